"""Charts as SVG: places in percent, text in pixels."""
