# SPDX-License-Identifier: MIT
# Sourced by replies.sh, and by scripted replies: the parts of a bench reply.

# entry NAME LAYOUT DEVICE_US CALL_US: five rounds, a per mille apart
entry() {
    awk -v name="$1" -v layout="$2" -v device="$3" -v call="$4" 'BEGIN {
        printf "{\"name\":\"%s\",\"layout\":\"%s\",\"status\":\"GS_OK\",\"message\":\"\",\"detail\":\"%s\",\"wrong\":false,\"mismatches\":0", name, layout,
               name == "plan" ? "tuned table, exact: ws/128x256x64/s4/c2x1/coop/g8" : ""
        printf ",\"device_us\":%s,\"device_ratio\":{\"median\":9},\"device_samples\":[", device
        for (i = 0; i < 5; i++) printf "%s%.4f", i ? "," : "", device * (1 + (i - 2) / 1000)
        printf "],\"call_us\":%s,\"call_p50\":%s,\"call_p95\":%.3f,\"call_p99\":%.3f,\"call_samples\":[", call, call, call * 1.1, call * 1.2
        for (i = 0; i < 5; i++) printf "%s%.4f", i ? "," : "", call * (1 + (i - 2) / 1000)
        printf "]}" }'
}

# reply MODE ENTRY...
reply() {
    printf '{"ok":true,"reference":0,"mode":"%s","rounds":5,"calls":3,"sets":4,"seconds":0.5,"clocks":{"before":{"sm_mhz":1980},"after":{"sm_mhz":1755}},"contenders":[' "$1"
    shift
    first=1
    for e in "$@"; do
        [ $first = 1 ] || printf ','
        first=0
        printf '%s' "$e"
    done
    printf ']}\n'
}
