# The root shell of the stick (page Machine, x).
export EDITOR=nano PAGER=less LESSHISTFILE=-
. /usr/share/bash-completion/completions/kaltstart
