# For every csh: where FreeBSD's tools are, and those of packages.
set path = (/freebsd/sbin /freebsd/bin /freebsd/local/bin)
setenv PKG_PATH /usr/ports/packages/All
