#compdef latchkey
# Completion of latchkey for zsh: the program says what may stand at the cursor, and zsh completes and quotes paths.

_latchkey() {
    local -a plain lines candidates
    local program=${(Q)words[1]} paths line word
    # A tilde that zsh has not expanded yet.
    [[ $program == '~/'* ]] && program=$HOME${program[2,-1]}
    plain=("${(@Q)words[2,-1]}")
    plain=("${(@)plain/#\~\//$HOME/}")
    # The word at the cursor ends there.
    plain[CURRENT-1]=${(Q)PREFIX}
    lines=("${(@f)$("$program" ---complete $((CURRENT - 2)) "${(@)plain}" 2>/dev/null)}")
    paths=$lines[1]
    # The value of --option=value completes like a word of its own.
    if [[ $PREFIX == --*=* ]]; then compset -P 1 '*='; fi
    for line in "${(@)lines[2,-1]}"; do
        [[ -n $line ]] || continue
        word=${line%%$'\t'*}
        [[ -n $IPREFIX && $word == $IPREFIX* ]] && word=${word#$IPREFIX}
        if [[ $line == *$'\t'* ]]; then
            candidates+=("${word//:/\\:}:${line#*$'\t'}")
        else
            candidates+=("${word//:/\\:}")
        fi
    done
    local -i failed=1
    (( $#candidates )) && _describe -t values 'latchkey' candidates && failed=0
    case $paths in
        directories) _files -/ && failed=0 ;;
        files) _files && failed=0 ;;
    esac
    return failed
}

# Loaded as a function of fpath it completes at once; sourced, it registers itself.
if [[ $funcstack[1] == _latchkey ]]; then
    _latchkey "$@"
elif (( $+functions[compdef] )); then
    compdef _latchkey latchkey
fi
