# Random problems and schedules come from the seed alone, cover both types, layouts and accumulators, and are all valid.
. "$CASES/../replies.sh"
echo '{"ok":true,"verdict":"pass","part":0,"problem":"","reason":""}' >replies/verify.json
gemmsmith verify --random 40 --seed 7 >first.txt || exit 1
gemmsmith verify --random 40 --seed 7 >second.txt || exit 1
gemmsmith verify --random 40 --seed 8 >third.txt || exit 1
cmp first.txt second.txt && ! cmp -s first.txt third.txt && echo "the seed decides"
for word in ' f16:' ' bf16:' :nn :tn :acc=f16 :d=f32 :lda= :ldb= :ldd= :beta= :alpha= ' simple' ' mma/' ' ws/'; do
    grep -q -e "$word" first.txt || echo "no $word"
done
gemmsmith verify --random 5 --families mma | grep -c ' mma/'
