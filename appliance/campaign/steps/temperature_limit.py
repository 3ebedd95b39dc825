# SPDX-License-Identifier: Apache-2.0
"""The temperature limit of a step's drives: watched while it runs, awaited before it begins.

The limit is the plan's, or else the drive's own. Reads the kernel's sensors; a drive without one
that tells its temperature when asked (SAS) is watched between parts.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from appliance.campaign.host import Clock
from appliance.campaign.steps.drive_temperature import QueriedTemperatures
from appliance.errors import StepFailedError
from appliance.phrases import N_, Phrase
from appliance.progress import Progress
from appliance.samples.temperature import Sensor, TemperatureRecorder, find_sensor

REST_CELSIUS = 5.0
"""How far below its limit a drive must cool down after it was too hot."""
_REST_TIMEOUT_S = 1800
# A drive cools by a degree in a minute or two; one that does not, will not.
_NO_FALL_S = 300
_LOOK_EVERY_S = 5.0
_POLL_S = 0.25


class TemperatureWatch:
    """The temperatures of the drives of one step."""

    def __init__(
        self,
        stats: Mapping[str, Path],
        *,
        max_celsius: float | None,
        own_limits: Mapping[str, float],
        asked: QueriedTemperatures,
        start_s: float,
        clock: Clock,
    ) -> None:
        """`stats`: identity → /sys/class/block/X/stat. `max_celsius`: the plan's.

        `own_limits` is what drives say of themselves by other ways than the kernel's sensor.
        """
        self._clock = clock
        self._sensors: dict[str, Sensor] = {}
        for identity, stat in stats.items():
            sensor = find_sensor(stat.parent)
            if sensor is not None:
                self._sensors[identity] = sensor
        self._asked = asked
        self._readers: dict[str, Callable[[], float | None]] = {
            **{name: sensor.read_celsius for name, sensor in self._sensors.items()},
            **{name: partial(asked.read_celsius, name) for name in asked.watched},
        }
        self._is_planned = max_celsius is not None
        self.limits: dict[str, float] = {}
        """By identity; a drive without any is not among them."""
        for identity in self._readers:
            sensor = self._sensors.get(identity)
            limit = max_celsius or (sensor and sensor.limit_celsius) or own_limits.get(identity)
            if limit is not None:
                self.limits[identity] = limit
        self.recorder = TemperatureRecorder(self._sensors, start_s=start_s)

    @property
    def latest(self) -> Mapping[str, float]:
        """What each drive said last, in °C by identity."""
        return {**self.recorder.latest, **self._asked.latest}

    def describe(self, identities: tuple[str, ...]) -> tuple[str, ...]:
        """What is watched of these drives, each in a sentence for the event log."""
        return tuple(map(self._describe, identities))

    def _describe(self, identity: str) -> str:
        if identity not in self._readers:
            return Phrase(
                N_("temperature of {drive} is not measured: it has no sensor"), drive=identity
            )
        limit = self.limits.get(identity)
        if limit is None:
            return Phrase(
                N_("temperature of {drive} has no limit: neither plan nor drive names one"),
                drive=identity,
            )
        words = N_("temperature limit of {drive}: {celsius} °C, the drive's own")
        if self._is_planned:
            words = N_("temperature limit of {drive}: {celsius} °C, the plan's")
        told = Phrase(words, drive=identity, celsius=round(limit))
        if identity not in self._asked.watched:
            return told
        return Phrase(N_("{first}, looked at between parts"), first=told)

    def check(self) -> None:
        """Raises StepFailedError where a drive has reached its limit, by what was read last."""
        for identity, celsius in self.latest.items():
            limit = self.limits.get(identity)
            if limit is not None and celsius >= limit:
                words = N_(
                    "drive {drive} is too hot: {celsius} °C; the drive itself sets the limit at "
                    "{limit} °C"
                )
                if self._is_planned:
                    words = N_(
                        "drive {drive} is too hot: {celsius} °C; the plan sets the limit at "
                        "{limit} °C"
                    )
                raise StepFailedError(
                    Phrase(words, drive=identity, celsius=round(celsius), limit=round(limit)),
                    hint=N_("improve its cooling, or set max_temperature in [campaign]"),
                )

    def rest(self, last: Mapping[str, float], tell: Progress) -> None:
        """Let drives cool that were too hot when they were looked at last, `last` in °C.

        Ends when they have cooled, or do so no more; `check` says what that is worth. Raises what
        `tell` raises.
        """
        for identity, limit in self.limits.items():
            if last.get(identity, limit - 1) >= limit:
                self._rest(identity, limit - REST_CELSIUS, tell)

    def _rest(self, identity: str, wanted_celsius: float, tell: Progress) -> None:
        begun_s = fell_s = looked_s = self._clock.monotonic_s()
        coolest = celsius = self._readers[identity]()
        while celsius is not None and celsius > wanted_celsius:
            now_s = self._clock.monotonic_s()
            if now_s - fell_s >= _NO_FALL_S or now_s - begun_s >= _REST_TIMEOUT_S:
                return
            tell(
                Phrase(
                    N_("{identity} rests: {celsius} °C"),
                    identity=identity,
                    celsius=f"{celsius:.0f}",
                ),
                int(now_s - begun_s),
                _REST_TIMEOUT_S,
            )
            self._clock.sleep(_POLL_S)
            if now_s - looked_s >= _LOOK_EVERY_S:
                looked_s = now_s
                celsius = self._readers[identity]()
                if celsius is not None and coolest is not None and celsius < coolest:
                    coolest, fell_s = celsius, now_s
