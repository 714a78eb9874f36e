# shellcheck shell=bash
# Completion of latchkey for bash, with or without the package bash-completion: the program says what may stand at the
# cursor, and readline completes and quotes paths.

# _latchkey_plain WORD: sets REPLY to the word without the shell's quotes; an open quote is allowed.
_latchkey_plain() {
    local rest=$1 quote='' letter
    REPLY=''
    while [[ -n $rest ]]; do
        letter=${rest:0:1} rest=${rest:1}
        case $quote$letter in
            \' | \") quote=$letter ;;
            "''" | '""') quote='' ;;
            \\) REPLY+=${rest:0:1} rest=${rest:1} ;;
            \"\\)
                if [[ ${rest:0:1} == [\"\\\$\`] ]]; then
                    REPLY+=${rest:0:1} rest=${rest:1}
                else
                    REPLY+=\\
                fi
                ;;
            *) REPLY+=$letter ;;
        esac
    done
}

_latchkey() {
    local text=$2 line=${COMP_LINE:0:COMP_POINT} index blank head paths candidate REPLY
    local -a raw=() words=() found=()
    COMPREPLY=()

    # readline also splits at ":" and "="; what no blank separates is one word for the program.
    for ((index = 0; index <= COMP_CWORD; index++)); do
        blank=${line%%[![:space:]]*}
        line=${line#"$blank"}
        # The word at the cursor ends there.
        ((index < COMP_CWORD)) && candidate=${COMP_WORDS[index]} || candidate=$line
        if [[ -n $blank || $index == 0 ]]; then raw+=("$candidate"); else raw[${#raw[@]} - 1]+=$candidate; fi
        line=${line#"$candidate"}
    done
    for candidate in "${raw[@]}"; do
        _latchkey_plain "$candidate"
        # shellcheck disable=SC2088 # The shell has not expanded the tilde of a word that it completes.
        if [[ $candidate == '~/'* && ${#words[@]} -lt $((${#raw[@]} - 1)) ]]; then REPLY=$HOME${REPLY:1}; fi
        words+=("$REPLY")
    done
    # What stands before the part that readline replaces.
    head=${raw[${#raw[@]} - 1]}
    _latchkey_plain "${head%"$text"}"
    head=$REPLY
    # What comes behind the cursor may name the vault whose slots are meant.
    index=$((${#words[@]} - 2))
    for candidate in "${COMP_WORDS[@]:COMP_CWORD+1}"; do
        _latchkey_plain "$candidate"
        words+=("$REPLY")
    done

    {
        IFS= read -r paths
        while IFS=$'\t' read -r candidate _; do found+=("${candidate#"$head"}"); done
    } < <("${words[0]}" ---complete "$index" "${words[@]:1}" 2>/dev/null)
    COMPREPLY=("${found[@]}")

    # readline would look for the part behind a colon alone.
    if [[ $paths != none && $head == *[!=] ]]; then
        compopt -o nospace -o filenames
        while IFS= read -r candidate; do
            [[ -d $candidate ]] && candidate+=/
            COMPREPLY+=("${candidate#"$head"}")
        done < <(compgen "-${paths:0:1}" -- "$(printf %q "${words[index + 1]}")")
        return
    fi
    case $paths in
        directories)
            compopt -o filenames
            # An empty word is answered with the mounts alone, if there are any.
            if [[ ${#found[@]} == 0 ]]; then compopt -o dirnames; elif [[ -n $text ]]; then compopt -o plusdirs; fi
            ;;
        files) compopt -o filenames -o default ;;
    esac
}

complete -F _latchkey latchkey
