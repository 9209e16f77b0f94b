import { expect, it } from 'vitest'
import {
  type AllFacts,
  type AllReport,
  formatAllGuide,
  renderBill,
  renderQuota,
  requireFacts,
  requireRemains,
} from './report.ts'

const uuid = 'zzzzz-dz642-000000000000001'
const left = { warned: true, stopped: true, why: 'stopped after 45 s without activity', afterSeconds: 46 }
const amount = { container: uuid, type: 'small', seconds: 4, cost: 0.0001 }
const facts: AllFacts = {
  tenant: { name: 'blue', seconds: 1 },
  app: { url: 'http://127.0.0.1:2/console/apps/hello/', member: 200, stranger: 403, seconds: 3 },
  lab: { status: 'running', http: 200, seconds: 5 },
  container: {
    ...{ uuid, tenant: 'blue', machine: 'lo-1', state: 'Complete', exitCode: 0, cost: 0.0001, seconds: 6 },
    tags: { 'cost-center': '4711', project: 'survey' },
  },
  idle: [
    { workload: 'lab', ...left },
    { workload: 'app', ...left },
  ],
  quota: { running: { pods: { used: '1', hard: '4' } }, stopped: { pods: { used: '0', hard: '4' } } },
  bill: { tenant: 'blue', paidBy: ['cost-center=4711', 'project=survey'], machines: [amount], total: 0.0001 },
}

it('requireFacts takes what the story says', () => {
  expect(() => requireFacts(facts)).not.toThrow()
})

const { app, lab, container, idle, quota, bill } = facts
it.each<[string, Partial<AllFacts>, RegExp]>([
  ['a member is kept out', { app: { ...app, member: 403 } }, /answers grace by 403/],
  ['a stranger gets in', { app: { ...app, stranger: 200 } }, /a stranger, by 200/],
  ['the lab does not answer', { lab: { ...lab, http: null } }, /the lab is running, and answers by null/],
  ['the container is of nobody', { container: { ...container, tenant: 'default' } }, /counts for the tenant default/],
  ['the container failed', { container: { ...container, exitCode: 1 } }, /is Complete/],
  ['the container was free', { container: { ...container, cost: 0 } }, /has cost nothing/],
  ['a tag is missing', { container: { ...container, tags: { project: 'survey' } } }, /do not say cost-center=4711/],
  ['the lab stayed', { idle: [{ workload: 'lab', ...left, stopped: false }, idle[1]!] }, /the lab was left alone/],
  ['nobody was warned', { idle: [idle[0]!, { workload: 'app', ...left, warned: false }] }, /without a warning/],
  ['one was not watched', { idle: idle.slice(1) }, /1 of lab and app/],
  ['the quota counts no pod', { quota: { ...quota, running: quota.stopped } }, /counts 0 pods while the app runs/],
  ['a stopped app has a pod', { quota: { ...quota, stopped: quota.running } }, /counts 1 pods of a stopped app/],
  ['nothing was billed', { bill: { ...bill, machines: [] } }, /0 lines for 1 container/],
  ['it was billed twice', { bill: { ...bill, machines: [amount, amount] } }, /2 lines for 1 container/],
  ['the amount is another', { bill: { ...bill, machines: [{ ...amount, cost: 1 }] } }, /the bill has 1, and REST/],
  ['the sum is another', { bill: { ...bill, total: 0.0002 } }, /the sum of the bill is 0.0002/],
])('requireFacts fails when %s', (_, over, words) => {
  expect(() => requireFacts({ ...facts, ...over })).toThrow(words)
})

it('requireRemains fails when something is left, or when the amount is gone', () => {
  const none = { objects: [], machines: 0, rows: 0, amounts: 1 }
  expect(() => requireRemains(none)).not.toThrow()
  expect(() => requireRemains({ ...none, objects: ['namespace/blue'], machines: 2, rows: 1 })).toThrow(
    'left: namespace/blue, 2 machines, 1 rows of the bill',
  )
  expect(() => requireRemains({ ...none, amounts: 0 })).toThrow('0 amounts are billed')
})

it('renderBill has who pays, the quota, a line for each container, and the sum', () => {
  expect(renderBill(facts).split('\n')).toEqual([
    '  tenant                    blue',
    '  paid by                   cost-center=4711, project=survey',
    '  quota, while the app ran  pods 1 of 4',
    '  quota, now                pods 0 of 4',
    `  machine (small)           ${uuid}: 4 s, 0.0001`,
    '  machines together         0.0001',
  ])
  expect(renderQuota({ ...quota.running, 'requests.cpu': { used: '100m', hard: '1' } })).toBe(
    'pods 1 of 4, requests.cpu 100m of 1',
  )
})

it('formatAllGuide names each address, and the files of people', () => {
  const urls = { tenants: 'http://t', apps: 'http://a', gateway: 'http://g', dispatch: 'http://d' }
  const person = (name: string) => ({ token: `${name}-1`, kubeconfig: `/run/${name}.kubeconfig` })
  const report: AllReport = {
    ...{ url: 'http://labs', urls, kubeconfig: '/run/admin', ...facts, processes: [], remains: null },
    people: { ada: person('ada'), grace: person('grace'), max: person('max') },
    seconds: { setup: 1, story: 1, delete: null },
  }
  const guide = formatAllGuide(report, '/bin/kubectl')
  for (const words of [
    'http://labs/nublado',
    'http://t/tenants',
    app.url,
    'http://d/dispatch',
    '/run/admin',
    'grace-1',
  ])
    expect(guide).toContain(words)
})
