# .cshrc - csh resource script, read at beginning of execution by each shell
alias h		history 25
alias j		jobs -l
alias la	ls -aF
alias lf	ls -FA
alias ll	ls -lAF

umask 22

setenv	EDITOR	vi
setenv	PAGER	more

if ($?prompt) then
	set prompt = "%N@%m:%~ %# "
	set promptchars = "%#"
	set filec
	set history = 1000
endif
