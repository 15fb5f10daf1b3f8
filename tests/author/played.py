# SPDX-License-Identifier: MIT
"""A kernel that somebody wrote, through scripts/play_answers.py and source mode, by itself and as scripts/write_kernels.sh does it: on the emulated device.

    played.py GEMMSMITH SOURCES"""
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM, SOURCES = sys.argv.pop(1), sys.argv.pop(1)
KERNEL = '53-small-16x16x16-b32768.md'
PROBLEM = 'f16:16x16x16:tn:b=37'


class Played(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix='gemmsmith-played.')
        self.addCleanup(shutil.rmtree, self.folder)
        answers = os.path.join(self.folder, 'answers')
        os.mkdir(answers)
        shutil.copy(os.path.join(SOURCES, 'docs/performance/written', KERNEL), answers)
        with open(os.path.join(answers, 'list.csv'), 'w') as rows:
            rows.write(f'file,problem\n{KERNEL},{PROBLEM}\n')
        self.player = subprocess.Popen([sys.executable, os.path.join(SOURCES, 'scripts/play_answers.py'), answers, '--port', '0'], stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.player.stdout.close)
        self.addCleanup(self.player.wait)
        self.addCleanup(self.player.kill)
        self.url = 'http://127.0.0.1:' + self.player.stdout.readline().strip()

    @staticmethod
    def lines(path):
        with (gzip.open if path.endswith('.gz') else open)(path, 'rt') as rows:
            return [json.loads(line) for line in rows]

    def tune(self, problem):
        done = subprocess.run([PROGRAM, 'tune', problem, '--policy', 'llm', '--mode', 'source', '--from', 'nothing', '--islands', '1', '--turns', '2', '--device', 'emu:h200',
                               '--store', os.path.join(self.folder, 'store.db'), '--keep', os.path.join(self.folder, 'kept'), '--llm_url', self.url, '--llm_model', 'files', '--json'],
                              capture_output=True, text=True, timeout=240, env={**os.environ, 'HOME': self.folder})
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_a_kernel_is_judged_and_kept(self):
        first, second, end = self.tune(PROBLEM)
        self.assertEqual((first['verdict'], first['best'], first['stage']), ('pass', True, 'time'))
        self.assertIn('refusal', second['fault'])   # there is no further answer
        self.assertEqual((end['judged'], end['passed'], end['unread'], end['elites']), (1, 1, 1, 1))
        folder = os.path.join(self.folder, 'kept', first['candidate'].removeprefix('source:'))
        with open(os.path.join(SOURCES, 'docs/performance/written', KERNEL)) as answer, open(os.path.join(folder, 'kernel.cu')) as kernel:
            self.assertIn(kernel.read(), answer.read())

    def test_a_list_is_played_scored_again_and_kept(self):
        out = os.path.join(self.folder, 'out')
        run = ['sh', os.path.join(SOURCES, 'scripts/write_kernels.sh'), os.path.join(self.folder, 'answers'), out, os.path.dirname(PROGRAM)]
        environment = {**os.environ, 'HOME': self.folder, 'GEMMSMITH_DEVICE': 'emu:h200'}
        subprocess.run(run, check=True, stderr=subprocess.DEVNULL, timeout=240, env=environment)
        found, turn, again, taught = (self.lines(os.path.join(out, name)) for name in ('found.jsonl', 'turns.jsonl', 'again.jsonl', 'trajectories.jsonl.gz'))
        self.assertEqual([row['verdict'] for row in again], ['pass', 'pass'])
        self.assertEqual([row['candidate'] for row in again], [found[0]['best_own'], turn[0]['candidate']])
        scores = self.lines(os.path.join(out, 'scores.jsonl'))
        self.assertEqual([(row['candidate'], row['file']) for row in scores], [(turn[0]['candidate'], KERNEL), (found[0]['best_own'], ''), (turn[0]['candidate'], KERNEL)])
        self.assertTrue(os.path.exists(os.path.join(out, 'kept', turn[0]['candidate'].removeprefix('source:'), 'manifest')))
        self.assertEqual([(row['problem'], row['candidate'], row['verdict']) for row in taught], [(PROBLEM, turn[0]['candidate'], 'pass')])
        subprocess.run(run, check=True, stderr=subprocess.DEVNULL, timeout=240, env=environment)   # nothing is asked twice
        self.assertEqual(self.lines(os.path.join(out, 'trajectories.jsonl.gz')), taught)
        self.assertEqual(self.lines(os.path.join(out, 'again.jsonl')), again)

    def test_other_problems_have_no_answer(self):
        self.assertEqual([turn.get('fault') is not None for turn in self.tune('f16:16x16x16:tn:b=38')], [True, True, False])


if __name__ == '__main__':
    unittest.main()
