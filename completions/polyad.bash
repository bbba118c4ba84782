# bash completion of polyad

# Names of formats; or of the format $1 its variants (but auto, which is no word to write) and keys.
_polyad_formats() {
  if [ $# -eq 0 ]; then
    "${COMP_WORDS[0]}" formats 2>/dev/null | sed -n 's/^\([a-z0-9-]\{1,\}\) .*/\1/p'
  else
    "${COMP_WORDS[0]}" formats 2>/dev/null | sed -n "/^$1 /,/^[a-z]/{
      s/^ *variants: auto \(.*\)   compute:.*/\1/p
      s/^ *\([a-z-]*=\)N, from .*/\1/p
    }"
  fi
}

# Completes what stands behind the last colon of NAME:...; bash cuts words at colons and equals signs.
_polyad_format_words() {
  local typed=$1 words
  words=$(_polyad_formats "${typed%%:*}")
  [[ $typed == *:*:* ]] && words=$(grep '=$' <<<"$words")
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "${typed##*:}")
  compopt -o nospace 2>/dev/null
  [[ $COMP_WORDBREAKS == *:* ]] || COMPREPLY=("${COMPREPLY[@]/#/${typed%:*}:}")
}

_polyad() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local command=${COMP_WORDS[1]} options=
  local commands="cpd rank tucker info convert generate bench report score core-consistency project
    update anomalies split predict plan replay"
  commands+=" formats devices"
  local talk="--json --quiet --verbose --help"
  local common="--device --precision --threads --memory-limit --seed --log $talk"
  local reading="--input-format --index-base --pattern --duplicates --aggregate --zeros --dims --labels --columns --where
    --missing --numbers --time-zone --value --delimiter"
  local changing="--log1p --tf-idf --scale"
  local storage="--second-share --compute"
  COMPREPLY=()

  if [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W "$commands help --help --version" -- "$current")
    return
  fi
  case $command in
    cpd) options="--rank --algorithm --nonnegative --ridge --half-rows --max-iters --tol --max-seconds --init
      --restarts --checkpoint --checkpoint-every --resume --inner-iters --epsilon --store-pi --zero-shift
      --zero-tol --active-tol --damping --exact --lbfgs-pairs --absent --weights --biases --bias-ridge
      --ridge-by-count --validation --patience --learn-rate --format --variant --tune --tune-cache $storage --stream --spill-dir --output --report --top
      $reading $changing $common" ;;
    rank) options="--ranks --algorithm --nonnegative --starts --folds --max-iters --tol --max-seconds --checkpoint
      --resume --report --format --variant --tune --tune-cache $storage $reading $changing $common" ;;
    tucker) options="--ranks --svd --max-iters --tol --max-seconds --init --format --variant $storage
      --output --report --top $reading $changing $common" ;;
    info) options="--format --variant $storage --rank $reading $changing $common" ;;
    convert) options="$reading $changing $common" ;;
    generate) options="--dims --nnz --skew --cluster --like --scale --structure --rank --noise --poisson --truth
      $common" ;;
    bench) options="--rank --format --variant --tune --tune-cache $storage --structure --mode --cache --algorithm --max-iters --tol --fit --log-likelihood --repeat --warmup --error --portable --elements $reading $common" ;;
    report) options="--output --run --outline --title --top --components --no-residuals $reading $changing $common" ;;
    score) options="--no-weights $talk" ;;
    core-consistency) options="$reading $changing $common" ;;
    project) options="--mode --model-kind --rows --fix --match --unseen --max-iters --tol --output --top
      $reading $common" ;;
    update) options="--mode --forget --rounds --model-kind --nonnegative --match --unseen --output --top $reading $common" ;;
    anomalies) options="--by --mode --model-kind --fdr --top --tail --cells --match --unseen --output
      $reading $changing $common" ;;
    split) options="--test --validation --negatives --mode --output --type $reading $changing $common" ;;
    predict) options="--output --top --mode --match --unseen $reading $common" ;;
    plan) options="--rank --format --ranks --memory --network --latency --ranks-per-host --host-bandwidth --host-latency
      --seconds $reading $common" ;;
    replay) options=$talk ;;
    formats) options=$talk ;;
    devices) options="--kind $talk" ;;
    help)
      mapfile -t COMPREPLY < <(compgen -W "$commands files" -- "$current")
      return
      ;;
  esac
  # --precision=f32 is three words.
  if [ "$current" = = ]; then
    current=
  elif [ "$previous" = = ]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  local typed=${COMP_LINE:0:COMP_POINT}
  typed=${typed##*[[:space:]]}
  if [[ $typed == [a-z]*:* && ${COMP_LINE:0:COMP_POINT-${#typed}} == *--format[[:space:]] ]]; then
    _polyad_format_words "$typed"
    return
  fi
  case $previous in
    --model-kind)
      local kinds="auto signed nonnegative poisson"
      [ "$command" = anomalies ] && kinds="auto gaussian poisson"
      mapfile -t COMPREPLY < <(compgen -W "$kinds" -- "$current")
      ;;
    --by) mapfile -t COMPREPLY < <(compgen -W "cell slice index" -- "$current") ;;
    --tail) mapfile -t COMPREPLY < <(compgen -W "both upper lower" -- "$current") ;;
    --cells) mapfile -t COMPREPLY < <(compgen -W "all file" -- "$current") ;;
    --rows) mapfile -t COMPREPLY < <(compgen -W "all unseen" -- "$current") ;;
    --match) mapfile -t COMPREPLY < <(compgen -W "auto number" -- "$current") ;;
    --unseen) mapfile -t COMPREPLY < <(compgen -W "error skip" -- "$current") ;;
    --svd) mapfile -t COMPREPLY < <(compgen -W "exact randomized" -- "$current") ;;
    --absent) mapfile -t COMPREPLY < <(compgen -W "zero unknown" -- "$current") ;;
    --algorithm | -a) mapfile -t COMPREPLY < <(compgen -W "als $([ "$command" = rank ] && echo nonnegative) $([ "$command" = cpd ] && echo ccd sgd) apr-mu apr-pdnr apr-pqnr" -- "$current") ;;
    --device) mapfile -t COMPREPLY < <(compgen -W "auto cpu cuda cuda:all opencl cuda,cpu" -- "$current") ;;
    --kind) mapfile -t COMPREPLY < <(compgen -W "cpu cuda opencl" -- "$current") ;;
    --compute) mapfile -t COMPREPLY < <(compgen -W "native f16 bf16 tf32" -- "$current") ;;
    --stream) mapfile -t COMPREPLY < <(compgen -W "auto always never" -- "$current") ;;
    --precision) mapfile -t COMPREPLY < <(compgen -W "f32 f64" -- "$current") ;;
    --duplicates) mapfile -t COMPREPLY < <(compgen -W "sum count mean min max first last error" -- "$current") ;;
    --aggregate) mapfile -t COMPREPLY < <(compgen -W "sum count mean min max last" -- "$current") ;;
    --missing) mapfile -t COMPREPLY < <(compgen -W "keep skip error" -- "$current") ;;
    --numbers) mapfile -t COMPREPLY < <(compgen -W "plain grouped point comma" -- "$current") ;;
    --zeros) mapfile -t COMPREPLY < <(compgen -W "drop keep" -- "$current") ;;
    --input-format) mapfile -t COMPREPLY < <(compgen -W "csv tsv tns sptensor ptn" -- "$current") ;;
    --index-base) mapfile -t COMPREPLY < <(compgen -W "0 1" -- "$current") ;;
    --init) mapfile -t COMPREPLY < <(compgen -W "random hosvd" -f -- "$current") ;;
    --format) mapfile -t COMPREPLY < <(compgen -W "auto all $(_polyad_formats)" -- "$current") ;;
    --structure) mapfile -t COMPREPLY < <(compgen -W "auto fibers flat" -- "$current") ;;
    --like) mapfile -t COMPREPLY < <(compgen -W "amazon delicious music nell-1 twitch vast chicago
      enron nips uber nell-2 lbnl-network vast-3d chicago-geo delicious-3d flickr-3d flickr darpa
      freebase reddit patents movies art book g1 g2 g3" -- "$current") ;;
    --labels) mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
    *)
      if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
      elif [ "$command" = bench ] && [ "$COMP_CWORD" -eq 2 ]; then
        mapfile -t COMPREPLY < <(compgen -W "mttkrp phi pi ttmc build read stream roof end-to-end tile-threshold" -- "$current")
      else
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
      fi
      ;;
  esac
}

complete -o filenames -F _polyad polyad
