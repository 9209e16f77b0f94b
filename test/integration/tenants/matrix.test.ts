/** What people may do in a tenant, by their own kubectl and the plugins, on a cluster with the component as shipped. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../kit/cluster/world.ts'
import { pathOf } from '../../kit/tenants/objects.ts'
import { KubectlUser, type Outcome } from './kubectl.ts'
import { matrix, type PersonName, persons } from './matrix.cases.ts'
import { OwnCluster } from './own-cluster.ts'

/** A name that every shell, and each kind of quoting, would like to change. */
const nasty = `Sue "Root" O'Hara <sue@example.org>`

let own: OwnCluster
let people: Readonly<Record<PersonName, KubectlUser>>

beforeAll(async () => {
  own = await OwnCluster.start()
  const sue = await KubectlUser.certified(own, 'sue', 'sue')
  const options = ['--user', 'uma', '--manager', 'max', '--eligible-group', 'devs', '--wait']
  // She names herself nowhere, so she is the sudoer.
  const { code, stderr } = await sue.kubectl(['create', 'lns', 'blue', ...options])
  expect([code, stderr]).toEqual([0, expect.stringContaining('condition met')])
  await own.make('green', { users: [{ kind: 'User', name: 'grace' }], sudoers: [] })
  await own.says('green', 'Ready', 'Ready')
  const [eve, uma, max, lee] = await Promise.all([
    KubectlUser.certified(own, 'eve', 'eve'),
    KubectlUser.requested(own, 'uma'),
    KubectlUser.certified(own, 'max', 'max'),
    KubectlUser.certified(own, 'lee', 'lee', ['devs']),
  ])
  const bot = await eventually('an account', () => KubectlUser.account(own, 'green', 'default').catch(() => undefined))
  const carl = await KubectlUser.certified(own, 'carl', 'carl')
  await own.must('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding', metadata: { name: 'carl' } },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'carl' }],
  })
  people = { eve, bot, uma, max, sue, sudo: sue, lee, carl }
})
afterAll(() => own?.close())

/** The word of `kubectl auth can-i`; anything else is a failure. */
function wordOf({ stdout, stderr }: Outcome): string {
  const word = stdout.trim().split('\n').at(-1)!
  if (word !== 'yes' && word !== 'no') throw new Error(`neither yes nor no: ${stdout} ${stderr}`)
  return word === 'yes' ? 'yes' : '-'
}

/**
 * As root of blue. For what has no namespace, or another one, `can-i` would ask by that of `-n`, which sudo needs: so it is
 * asked by the same request as `can-i` sends, but with the right attributes.
 */
async function bySudo(person: KubectlUser, question: string): Promise<string> {
  if (/-n blue|lns\/blue/.test(question)) {
    return wordOf(await person.kubectl(['sudo', 'auth', 'can-i', ...question.split(' ')]))
  }
  const [verb, thing, , namespace] = question.split(' ') as [string, string, string?, string?]
  const [type, name] = thing.split('/') as [string, string?]
  const [resource, group] = type === 'lns' ? ['lnamespaces', 'gial.lblw.dev'] : parted(type)
  const resourceAttributes = { verb, resource, group, ...(name && { name }), ...(namespace && { namespace }) }
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes },
  }
  const args = ['sudo', 'create', '-n', 'blue', '-f', '-', '-o', 'jsonpath={.status.allowed}', '--validate=false']
  const { stdout, stderr } = await person.kubectl(args, JSON.stringify(review))
  expect([stdout, stderr]).toEqual([expect.stringMatching(/^(true|false)?$/), ''])
  return stdout === 'true' ? 'yes' : '-'
}

function parted(type: string): [string, string] {
  const at = type.indexOf('.')
  return at < 0 ? [type, ''] : [type.slice(0, at), type.slice(at + 1)]
}

describe('the matrix', () => {
  test.each(Object.entries(persons))('kubectl tells %s (%s) what the table says', async name => {
    const person = people[name as PersonName]
    const found: string[] = []
    const expected: string[] = []
    for (const { question, answers } of matrix) {
      const answer =
        name === 'sudo'
          ? await bySudo(person, question)
          : wordOf(await person.kubectl(['auth', 'can-i', ...question.split(' ')]))
      found.push(`${question}: ${answer}`)
      expected.push(`${question}: ${answers[name as PersonName]}`)
    }
    expect(found).toEqual(expected)
  })

  test('has 30 questions to seven people at least', () => {
    expect(matrix.length).toBeGreaterThanOrEqual(30)
    expect(Object.keys(persons).length).toBeGreaterThanOrEqual(7)
  })
})

describe('kubectl create lns', () => {
  test('is found by this kubectl, and makes the person the requester and the only sudoer', async () => {
    const { stdout } = await people.eve.kubectl(['create', 'lns', 'eves', '--dry-run=server', '-o', 'json'])
    const { metadata, spec } = JSON.parse(stdout)
    expect(metadata.annotations).toMatchObject({ 'lns.skylab/requester': 'eve' })
    expect(spec.sudoers).toEqual([{ kind: 'User', name: 'eve', namespace: '' }])
  })

  test('gives nobody what the cluster refuses, in its words', async () => {
    const attempts: readonly (readonly [PersonName, readonly string[], string])[] = [
      ['eve', ['kube-public'], 'kube-public begins like names that are reserved'],
      ['eve', ['a.b'], 'dots are not allowed'],
      ['eve', ['eves', '--user', 'system:admin'], 'names of people and groups must not begin with system:'],
      ['eve', ['blue'], 'already exists'],
      ['bot', ['bots'], 'is no person'],
    ]
    for (const [who, args, words] of attempts) {
      const { code, stderr } = await people[who].kubectl(['create', 'lns', ...args])
      expect([code, stderr]).toEqual([1, expect.stringContaining(words)])
    }
    expect((await own.must('GET', '/apis/gial.lblw.dev/v1beta1/lnamespaces')) as unknown).toMatchObject({
      items: [{ metadata: { name: 'blue' } }, { metadata: { name: 'green' } }],
    })
  })

  test('says why an LNamespace does not become ready when it waits for that', async () => {
    await own.must('POST', '/api/v1/namespaces', { metadata: { name: 'taken' } })
    const args = ['create', 'lns', 'taken', '--wait', '--timeout=3s']
    const { code, stderr } = await people.eve.kubectl(args)
    expect(stderr).toContain('taken is there, and not ready after 3s: Conflict: the Namespace taken exists')
    expect(code).toBe(1)
    await own.drop('taken')
  })
})

describe('kubectl sudo', () => {
  const secret = ['create', 'secret', 'generic', 'key', '-n', 'blue', '--from-literal', `text=it's "x"\n -A`]

  test('does as root what the person cannot, with each argument as it was', async () => {
    const { sue } = people
    expect((await sue.kubectl(secret)).stderr).toContain('forbidden')
    expect((await sue.kubectl(['sudo', ...secret])).code).toBe(0)
    const { stdout } = await sue.kubectl(['sudo', 'get', 'secret', 'key', '-nblue', '-o', 'jsonpath={.data.text}'])
    expect(Buffer.from(stdout, 'base64').toString()).toBe(`it's "x"\n -A`)
  })

  test('runs the last command of a shell again by !!', async () => {
    const script = 'kubectl get secrets -n blue\nkubectl sudo !!\nexit\n'
    const { stdout, stderr } = await people.sue.run('bash', ['--norc', '--noprofile', '-i'], script)
    expect(stderr).toContain('kubectl sudo kubectl get secrets -n blue')
    expect(stderr.match(/forbidden/g)).toHaveLength(1)
    expect(stdout).toMatch(/NAME|No resources found/)
  })

  test('edits the LNamespace itself', async () => {
    const editor = join(own.stateDir, 'editor')
    writeFileSync(editor, '#!/bin/sh\nsed -i "s/name: uma/name: grace/" "$1"\n', { mode: 0o755 })
    const edit = (as: readonly string[], env = { KUBE_EDITOR: editor }) =>
      people.sue.kubectl([...as, 'edit', 'lns', 'blue'], '', env)
    expect((await edit([])).stderr).toContain('forbidden')
    expect((await edit(['sudo'])).stdout).toContain('blue edited')
    const creates = (user: string) => own.may(user, 'create', 'pods', { namespace: 'blue' })
    await eventually('the right of another', () => creates('grace'))
    expect(await creates('uma')).toBe(false)
    await own.edit('blue', { users: [{ kind: 'User', name: 'uma' }] })
    await own.says('blue', 'Ready', 'Ready')
  })

  test('gives a stranger nothing, nor a sudoer another namespace', async () => {
    for (const [who, namespace] of [
      ['eve', 'blue'],
      ['uma', 'blue'],
      ['max', 'blue'],
      ['lee', 'blue'],
      ['sue', 'green'],
    ] as const) {
      const { code, stderr } = await people[who].kubectl(['sudo', 'get', 'pods', '-n', namespace])
      expect([code, stderr]).toEqual([1, expect.stringContaining('cannot impersonate')])
    }
  })

  test('impersonates whoever has a name of quotes and spaces', async () => {
    const person = await KubectlUser.certified(own, 'nasty', nasty)
    expect((await person.kubectl(['create', 'lns', 'odd', '--wait', '--user', nasty])).code).toBe(0)
    const { stdout, stderr } = await person.kubectl(['sudo', 'auth', 'whoami', '-n', 'odd', '-o', 'json'])
    expect([JSON.parse(stdout).status.userInfo, stderr]).toEqual([
      expect.objectContaining({ username: nasty, groups: ['odd-sudoers', 'system:authenticated'] }),
      '',
    ])
    await own.drop('odd')
  })

  test('works from nobody’s kubeconfig when the command names another', async () => {
    const env = { KUBECONFIG: '/dev/null' }
    const options = ['--kubeconfig', people.sue.kubeconfig, '-n', 'blue']
    const { code, stderr } = await people.eve.kubectl(['sudo', 'get', 'secrets', ...options], '', env)
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('forbidden')])
  })

  test('is for an eligible person while a grant runs, and no longer', async () => {
    const ask = () => people.lee.kubectl(['sudo', 'get', 'secrets', '-n', 'blue'])
    expect((await ask()).code).toBe(1)
    const until = new Date(Date.now() + 8_000).toISOString()
    const as = { kind: 'Group', name: 'devs' }
    await own.must('PATCH', `${pathOf('LNamespace', 'blue')}/status`, {
      status: { grants: [{ id: '1', user: 'lee', until, reason: 'a test', as }] },
    })
    await eventually('sudo', async () => (await ask()).code === 0)
    await eventually('its end', async () => (await ask()).code === 1)
    expect(Date.now()).toBeGreaterThan(Date.parse(until) - 1_000)
  })

  test('ends when the name leaves the list', async () => {
    await own.edit('blue', { sudoers: [] })
    await own.says('blue', 'Ready', 'Ready')
    const { code, stderr } = await people.sue.kubectl(['sudo', 'get', 'pods', '-n', 'blue'])
    expect([code, stderr]).toEqual([1, expect.stringContaining('cannot impersonate')])
  })
})
