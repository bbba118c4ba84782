# fish completion of polyad. Options and their descriptions come from what each subcommand's --help
# prints, so that they are those of the installed command.

# Lines "NAME<tab>SUMMARY" of the subcommands.
function __polyad_commands
    command polyad --help 2>/dev/null | string replace -rf '^  ([a-z-]+) {2,}(\S.*)$' '$1\t$2'
    printf 'help\texplain a subcommand\n'
end

# The values that an option takes, where they are words.
function __polyad_values -a name argument
    switch $name
        case algorithm
            printf '%s\n' als apr-mu apr-pdnr apr-pqnr
            if test "$__polyad_command" = rank
                echo nonnegative
            else if test "$__polyad_command" = cpd
                printf '%s\n' ccd sgd
            end
        case device
            printf '%s\n' auto cpu cuda opencl cuda,cpu
        case kind
            printf '%s\n' cpu cuda opencl
        case duplicates
            printf '%s\n' sum count mean min max first last error
        case aggregate
            printf '%s\n' sum count mean min max last
        case missing
            printf '%s\n' keep skip error
        case numbers
            printf '%s\n' plain grouped point comma
        case model-kind
            switch "$__polyad_command"
                case anomalies
                    printf '%s\n' auto gaussian poisson
                case '*'
                    printf '%s\n' auto signed nonnegative poisson
            end
        case by
            printf '%s\n' cell slice index
        case tail
            printf '%s\n' both upper lower
        case rows
            printf '%s\n' all unseen
        case match
            printf '%s\n' auto number
        case unseen
            printf '%s\n' error skip
        case svd
            printf '%s\n' exact randomized
        case compute
            printf '%s\n' native f16 bf16 tf32
        case structure
            printf '%s\n' auto fibers flat
        case cache
            printf '%s\n' warm cold both
        case format
            printf '%s\n' auto (command polyad formats 2>/dev/null | string match -rg '^([a-z0-9-]+) ')
        case '*'
            if string match -q '*|*' -- $argument # such as f32|f64
                string split '|' -- $argument
            end
    end
end

# Whether an option's argument is a file or a folder.
function __polyad_is_file -a argument
    string match -qr 'FILE|PATH|DIR|HOW' -- $argument
end

complete -c polyad -f -n __fish_use_subcommand -l help -s h -d 'show help'
complete -c polyad -f -n __fish_use_subcommand -l version -s V -d 'say what is installed'
complete -c polyad -f -n __fish_use_subcommand -a '(__polyad_commands)'
complete -c polyad -f -n '__fish_seen_subcommand_from help' -a '(__polyad_commands)'
complete -c polyad -f -n '__fish_seen_subcommand_from formats devices'
complete -c polyad -f -n '__fish_seen_subcommand_from bench; and test (count (commandline -opc)) -eq 2' \
    -a 'mttkrp phi pi ttmc build read stream roof end-to-end tile-threshold'

for __polyad_command in (__polyad_commands | string replace -r '\t.*' '' | string match -v help)
    set -l seen "__fish_seen_subcommand_from $__polyad_command; and not __fish_seen_subcommand_from help"
    complete -c polyad -n $seen -l help -s h -d 'show help'
    # letter, name, argument and description of each line
    for line in (command polyad $__polyad_command --help 2>/dev/null |
            string replace -rf '^  (?:-(\w), |    )--([a-z0-9-]+) ?(\S*) *(.*)$' '$1\t$2\t$3\t$4')
        set -l parts (string split \t -- $line)
        set -l options -l $parts[2] -d $parts[4]
        test -n "$parts[1]"; and set -a options -s $parts[1]
        # what an option may have behind = or not, as in [=MODES], is no word of its own
        if test -n "$parts[3]"; and not string match -q '[=*' -- $parts[3]
            if __polyad_is_file $parts[3]
                set -a options -r
            else
                set -a options -x
            end
            set -l values (__polyad_values $parts[2] $parts[3])
            test (count $values) -gt 0; and set -a options -a "$values"
        end
        complete -c polyad -n $seen $options
    end
end
set -e __polyad_command
