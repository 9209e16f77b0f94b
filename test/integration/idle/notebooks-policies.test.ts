/** The policy of k8s/components/notebooks, on a cluster of its own: what it admits of its account, and what not. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { notebooksAccount, notebooksObjects } from '../../../dev/kube/notebooks.ts'
import type { AdminKube, KubeAnswer } from '../../kit/cluster/kube.ts'
import { eventually } from '../../kit/cluster/world.ts'
import { NotebooksSite } from '../../kit/idle/notebooks-site.ts'
import { admitted, beyondRbac, objects, refused, type Write } from './notebooks-fence.cases.ts'

let site: NotebooksSite
let thief: AdminKube

beforeAll(async () => {
  site = await NotebooksSite.start(objects)
  thief = await site.thief()
})
afterAll(async () => {
  thief?.close()
  await site?.close()
})

const rows = (writes: readonly Write[]) => writes.map(each => [each.title, each] as const)
const dry = (path: string) => `${path}?dryRun=All`

/** Those beyond RBAC are sent with all rights. */
const send = ({ method, path, body }: Write, isBeyond = false): Promise<KubeAnswer> =>
  isBeyond ? site.asAccountWithAllRights(method, dry(path), body) : thief.request(method, dry(path), body)

function expectRefused({ status, body }: KubeAnswer, { words }: Write): void {
  expect(body.message).toContain(`ValidatingAdmissionPolicy '${notebooksAccount}'`)
  expect(body.message).toContain(words)
  expect([status, body.reason]).toEqual([403, 'Forbidden'])
}

describe('the account of notebooks', () => {
  test.each(rows(admitted))('may write %s', async (_, write) => {
    const { status, body } = await send(write)
    expect([status, body.message]).toEqual([200, undefined])
  })
  test.each(rows(refused))('may not write %s', async (_, write) => expectRefused(await send(write), write))
  test.each(rows(beyondRbac))('may not write %s, whatever its rights', async (_, write) => {
    expectRefused(await send(write, true), write)
  })
})

test.each(rows([...refused, ...beyondRbac]))('an administrator may write %s', async (_, { method, path, body }) => {
  const answer = await site.kube.request(method, dry(path), body)
  expect(answer.body.message ?? '').not.toContain('ValidatingAdmissionPolicy')
})

interface Rule {
  readonly expression: string
  readonly message: string
}

const all = [
  ...refused.map(write => ({ write, isBeyond: false })),
  ...beyondRbac.map(write => ({ write, isBeyond: true })),
]
/** A policy must have a rule. */
const nothing: Rule = { expression: 'true', message: '' }
const goneLimitMs = 15_000

test('each rule of the policy has a case that passes when the rule is gone', async () => {
  const policy = (await notebooksObjects()).find(({ kind }) => kind === 'ValidatingAdmissionPolicy')!
  const { validations } = policy.spec as { validations: readonly Rule[] }
  const path = `/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/${notebooksAccount}`
  const faults: string[] = []
  for (const rule of validations) {
    const rest = [...validations.filter(each => each !== rule), nothing]
    await site.must('PATCH', path, { spec: { validations: rest } })
    const cases = all.filter(({ write }) => rule.message.includes(write.words!))
    await eventually(rule.message, () => anyPasses(cases), goneLimitMs).catch(error => faults.push(error.message))
  }
  await site.must('PATCH', path, { spec: { validations } })
  expect(faults).toEqual([])
})

async function anyPasses(cases: typeof all): Promise<boolean> {
  const answers = await Promise.all(cases.map(({ write, isBeyond }) => send(write, isBeyond)))
  return answers.some(({ body }) => !body.message?.includes('denied request'))
}
