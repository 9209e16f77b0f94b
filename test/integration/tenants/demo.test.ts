/** `npm run demo -- --tenants --once --json`, as a newcomer runs it. The demo fails itself where an answer is not as declared. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import type { TenantsReport } from '../../../dev/tenants/report.ts'

const checkout = fileURLToPath(new URL('../../..', import.meta.url))

/** The garbage collector of a new cluster learns of LNamespaces within half a minute. */
const limitMs = 180_000

test('the demo of tenants shows rights that come and go, and leaves nothing', { timeout: limitMs }, async () => {
  const child = spawn(process.execPath, ['dev/demo.ts', '--tenants', '--once', '--json', '--replicas', '2'], {
    ...{ cwd: checkout, stdio: ['ignore', 'pipe', 'pipe'] },
  })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (part: Buffer) => (stdout += part))
  child.stderr.on('data', (part: Buffer) => (stderr += part))
  const code = await new Promise(resolve => child.once('close', resolve))
  expect([code, stdout.split('\n').length], stderr).toEqual([0, 2])
  const { questions, answers, seconds, people, bill } = JSON.parse(stdout) as TenantsReport
  const row = (words: string) => questions.findIndex(each => each.startsWith(words))
  const [work, root] = [row('start pods in blue'), row('become root')]
  const ofStages = (name: keyof typeof people, question: number) =>
    (['before', 'made', 'edited', 'sudo', 'ended'] as const).map(stage => answers[stage][name][question])
  expect(ofStages('grace', work)).toEqual([false, true, false, false, false])
  expect(ofStages('max', work)).toEqual([false, false, true, true, true])
  expect(ofStages('max', root)).toEqual([false, false, false, true, false])
  expect(ofStages('ada', root)).toEqual([false, true, true, true, true])
  expect(seconds.delete).toBeGreaterThan(0)
  expect(bill).toMatchObject({ made: ['cost-center=4711'], edited: ['cost-center=4711', 'project=survey'], ended: [] })
  expect(bill.log.at(-1)).toBe('3 closed')
  // For a person, in words, beside the line for programs.
  expect(stderr).toContain('ada$ kubectl create lns blue')
  expect(stderr).toMatch(
    /max\$ kubectl sudo delete networkpolicy lns-platform -n blue\n.*skylab-tenants-guard-deletions/,
  )
})
