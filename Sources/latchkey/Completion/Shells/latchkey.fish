# Completion of latchkey for fish: the program says what may stand at the cursor, and fish completes and quotes paths.

function __latchkey_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    # Without the shell's quotes; an open quote is not yet a word.
    set -l current (string unescape -- $typed 2>/dev/null; or string replace -ra '^["\']' '' -- $typed)
    set -l behind (commandline -o)
    set -e behind[1..(math "min($(count $behind), $(count $words) + 1)")]
    set -l lines ($words[1] ---complete (math (count $words) - 1) $words[2..-1] "$current" $behind 2>/dev/null)
    printf '%s\n' $lines[2..-1]
    # The value of --option=value completes like a word of its own.
    set -l option (string match -r -- '^--[^=]*=' "$current")
    # As it was typed, since fish completes it as a word of a command line.
    set -l value (string replace -r -- '^--[^=]*=' '' "$typed")
    # The arguments of no command are files.
    switch "$lines[1]"
        case directories
            string replace -r -- '^' "$option" (complete -C"'' $value" | string match -r '.*/$')
        case files
            string replace -r -- '^' "$option" (complete -C"'' $value")
    end
end

complete -c latchkey -f -a '(__latchkey_complete)'
