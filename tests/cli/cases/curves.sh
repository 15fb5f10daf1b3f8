# Curves: taken from rows, printed as rows and as objects, from a training that was told where to keep them; what is refused.
try() { gemmsmith "$@"; echo "exit $?"; }
try db curves
printf '# how it went\nseries,name,x,y\nregret/learned,"f16:64x64x64:tn:ep=bias,gelu ""a""",1,0.5\r\nregret/learned,"f16:64x64x64:tn:ep=bias,gelu ""a""",2,\n\nregret/spread,b,1e1,-0.25\n' >in.csv
try db curves in.csv --gpu nvidia-h200
try db curves
gemmsmith db curves >out.csv
gemmsmith db curves out.csv --store second.db && gemmsmith db curves --store second.db | cmp out.csv - && echo "the round trip changes nothing"
gemmsmith db curves --json | sed 's/"date":"[^"]*"/"date":"DATE"/'
mkdir new
gemmsmith train new/one.weights --problems 2 --seed 3 --quiet --store trained.db
gemmsmith db curves --store trained.db | cut -d, -f1-3
gemmsmith db merge trained.db && gemmsmith db curves | wc -l
# refused, and nothing of the file is kept
for rows in 'series,name,x' 'regret/a,b,1' 'regret/a,b,one,2' 'regret/a,b,1,two' ',b,1,2' 'regret/a,,1,2' 'regret/a,"b,1,2' 'regret/a,b"c",1,2,3'; do
    printf 'series,name,x,y\nregret/good,b,1,2\n%s\n' "$rows" >bad.csv
    try db curves bad.csv --store none.db
done
printf 'series,name,x,y\nregret/a,b\tc,1,2\n' >bad.csv
try db curves bad.csv --store none.db
printf 'regret/a,b,1,2\n' >bad.csv
try db curves bad.csv --store none.db
try db curves absent.csv --store none.db
try db curves in.csv more.csv
gemmsmith db curves --store none.db --quiet
try train x.weights --problems 0 --store in.csv
ls x.weights 2>/dev/null
