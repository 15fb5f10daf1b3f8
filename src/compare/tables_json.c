/* SPDX-License-Identifier: MIT
 * The JSON of a comparison of two tables, for gemmsmith db compare --json. */
#include "compare/tables.h"

static void json_side(gs_json *json, const char *name, const gs_row *row)
{
    char choice[GS_SCHEDULE_TEXT];
    if (!row) {
        gs_json_string(json, name, NULL);
        return;
    }
    gs_json_begin(json, name, '{');
    gs_json_string(json, "choice", gs_row_choice(row, choice));
    gs_json_double(json, "us", row->us);
    gs_json_double(json, "cublaslt_us", row->library_us);
    gs_json_double(json, "ratio", row->ratio);
    gs_json_double(json, "low", row->low);
    gs_json_double(json, "high", row->high);
    gs_json_int(json, "mhz", row->mhz);
    gs_json_int(json, "cublaslt", row->cublaslt);
    gs_json_string(json, "date", row->date);
    gs_json_string(json, "by", row->by);
    gs_json_end(json, '}');
}

void gs_tables_pair_put(gs_json *json, const gs_table_comparison *c, const gs_tables_pair *p)
{
    char text[GS_PROBLEM_TEXT];
    gs_json_string(json, "problem", gs_problem_format(&(p->a ? p->a : p->b)->problem, text));
    json_side(json, "a", p->a);
    json_side(json, "b", p->b);
    if (p->ratio > 0) {
        const int faster = gs_tables_faster(p->ratio);
        gs_json_double(json, "time_ratio", p->ratio);
        gs_json_string(json, "faster", faster < 0 ? "same" : faster == 0 ? "a" : "b");
    }
    if (c->predicted) gs_json_bool(json, "predicted", true);
}

static void json_mean(gs_json *json, const char *name, const gs_tables_mean *m)
{
    gs_json_begin(json, name, '{');
    gs_json_int(json, "problems", m->count);
    if (m->count > 0) gs_json_double(json, "geomean", gs_tables_geomean(m));
    gs_json_end(json, '}');
}

void gs_tables_summary_put(gs_json *json, const gs_table_comparison *c)
{
    gs_json_begin(json, "summary", '{');
    for (int i = 0; i < 2; i++) {
        const gs_tables_side *const s = &c->side[i];
        const gs_row *const row = gs_table_row(s->table, 0);
        gs_json_begin(json, i == 0 ? "a" : "b", '{');
        gs_json_string(json, "file", s->path);
        gs_json_string(json, "gpu", s->gpu);
        gs_json_int(json, "cc", row ? row->cc : 0);
        gs_json_int(json, "sms", row ? row->sms : 0);
        gs_json_int(json, "problems", gs_table_size(s->table));
        gs_json_int(json, "skipped", s->skipped + s->others + s->kept_out);
        gs_json_int(json, "only_here", c->only[i]);
        gs_json_int(json, "faster", c->faster[i]);
        gs_json_end(json, '}');
    }
    gs_json_int(json, "both", c->both);
    gs_json_int(json, "same", c->same);
    gs_json_int(json, "untimed", c->untimed);
    gs_json_int(json, "chose_alike", c->alike);
    json_mean(json, "time_ratio", &c->all);
    json_mean(json, "time_ratio_where_alike", &c->where_alike);
    json_mean(json, "cublaslt_time_ratio", &c->library);
    if (c->predicted) gs_json_bool(json, "predicted", true);
    gs_json_end(json, '}');
}

void gs_trial_object(gs_text *out, const gs_trial *trial, const char *gpu)
{
    gs_json json = gs_json_into(out);
    gs_json_begin(&json, NULL, '{');
    gs_json_string(&json, "problem", trial->problem);
    gs_json_string(&json, "candidate", trial->candidate);
    gs_json_string(&json, "gpu", gpu);
    gs_json_string(&json, "verdict", trial->verdict);
    gs_json_string(&json, "reason", trial->reason);
    gs_json_string(&json, "stage", trial->stage);
    gs_json_double(&json, "predicted_us", trial->predicted_us);
    gs_json_double(&json, "us", trial->us);
    if (gs_gpu_emulated(gpu)) gs_json_bool(&json, "predicted", true);
    gs_json_double(&json, "cublaslt_us", trial->library_us);
    gs_json_double(&json, "ratio", trial->ratio);
    gs_json_double(&json, "low", trial->low);
    gs_json_double(&json, "high", trial->high);
    gs_json_int(&json, "rounds", trial->rounds);
    gs_json_int(&json, "registers", trial->registers);
    gs_json_int(&json, "smem", trial->smem);
    gs_json_int(&json, "mhz", trial->mhz);
    gs_json_string(&json, "date", trial->date);
    gs_json_end(&json, '}');
}
