/** The plugins in the shells of people, with a kubectl that only notes how it is called. */
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

const here = fileURLToPath(new URL('.', import.meta.url))

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'plugins-'))
  writeFileSync(join(folder, 'kubectl'), fake)
  chmodSync(join(folder, 'kubectl'), 0o755)
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Each call is a line of words that end with the byte 0. */
const fake = `#!/bin/sh
printf '%s\\0' "$@" >>"$CALLS"
printf '\\n\\0\\n\\0' >>"$CALLS"
case "$1 $2" in
  'auth whoami') printf '%s' "$WHO"; [ "$WHO" != unknown ] ;;
  'config view') printf '%s' "$PLACE" ;;
  'create -f') cat >"$CALLS.input" ;;
  'wait '*) [ -z "$UNREADY" ] ;;
  'get lnamespaces'*) printf '%s' "$UNREADY" ;;
esac
`

interface Outcome {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
  /** Words of each call of kubectl. */
  readonly calls: readonly (readonly string[])[]
}

interface World {
  /** `unknown`: the cluster refuses to say. */
  readonly who?: string
  /** The namespace of the context. */
  readonly place?: string
  /** Why what is waited for does not come. */
  readonly unready?: string
}

function start(shell: string, plugin: string, args: readonly string[], world: World = {}): Outcome {
  const { who = 'ada', place = '', unready = '' } = world
  const file = join(folder, 'calls')
  rmSync(file, { force: true })
  const env = { PATH: `${folder}:${process.env.PATH}`, CALLS: file, WHO: who, PLACE: place, UNREADY: unready }
  const { status, stdout, stderr } = spawnSync(shell, [join(here, plugin), ...args], { env, encoding: 'utf8' })
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const calls = text
    .split('\n\0\n\0')
    .slice(0, -1)
    .map(call => call.split('\0').slice(0, -1))
  return { status, stdout, stderr, calls }
}

describe.each(['dash', 'bash'])('in %s', shell => {
  const sudo = (args: readonly string[], world?: World) => start(shell, 'kubectl-sudo', args, world)
  const create = (args: readonly string[], world?: World) => start(shell, 'kubectl-create-lns', args, world)

  /** The command that sudo ran at last; options of its own are left out. */
  function ran(args: readonly string[], world?: World) {
    const { status, stderr, calls } = sudo(args, world)
    expect([status, stderr]).toEqual([0, ''])
    const last = calls.at(-1)!
    // They come first, or behind the first word.
    const at = last[0]!.startsWith('--as=') ? 0 : 1
    return { ours: last.slice(at, at + 2), rest: last.toSpliced(at, 2) }
  }
  const groupOf = (args: readonly string[], world?: World) => ran(args, world).ours[1]

  describe('kubectl-sudo', () => {
    test.each([
      [['get', 'pods', '-n', 'blue'], 'blue'],
      [['-n', 'blue', 'get', 'pods'], 'blue'],
      [['get', 'pods', '-nblue'], 'blue'],
      [['get', 'pods', '-n=blue'], 'blue'],
      [['get', 'pods', '--namespace', 'blue'], 'blue'],
      [['get', 'pods', '--namespace=blue'], 'blue'],
      [['get', 'pods', '-n', 'green', '-n', 'blue'], 'blue'],
      [['exec', '-itnblue', 'web', '--', 'ls'], 'blue'],
      [['exec', '-itn', 'blue', 'web', '--', 'ls'], 'blue'],
      [['logs', '-p', '-n', 'blue', 'web'], 'blue'],
      [['patch', 'pod', 'web', '-p', '-ngreen', '-n', 'blue'], 'blue'],
      [['get', 'pods', '-l', 'app=n', '-owide', '-nblue'], 'blue'],
      [['get', 'pods', '-lapp=n', '-fn', '-nblue'], 'blue'],
      [['exec', '-n', 'blue', 'web', '--', 'grep', '-n', 'green', '-A'], 'blue'],
      [['edit', 'lns', 'blue'], 'blue'],
      [['edit', 'lns/blue'], 'blue'],
      [['get', 'lnamespaces.gial.lblw.dev', 'blue', '-o', 'yaml'], 'blue'],
      [['patch', 'lns', '--type', 'merge', 'blue', '-p', '{}'], 'blue'],
      [['wait', '--for', 'condition=Ready', 'lnamespace/blue'], 'blue'],
      [['label', 'pods', 'lns', 'web', '-n', 'blue'], 'blue'],
      [['edit', 'lns', 'green', '-n', 'blue'], 'blue'],
      [['get', 'pods', '--all-namespaces=false', '-n', 'blue'], 'blue'],
    ])('takes the namespace from %j', (args, namespace) => {
      expect(groupOf(args, { place: 'other' })).toBe(`--as-group=${namespace}-sudoers`)
    })

    test('takes the namespace from the context when the command names none', () => {
      for (const args of [
        ['get', 'pods'],
        ['get', 'lns'],
        ['delete', 'pods', 'lns', 'web'],
      ])
        expect(groupOf(args, { place: 'blue' })).toBe('--as-group=blue-sudoers')
    })

    test.each([
      ['-n', 'blue', 'exec', 'web', '--', 'sh', '-c', "echo \"$HOME\" 'it''s'; exit 3", '-A', '--as=eve'],
      ['annotate', 'pod', 'web', 'text=a\nb\n', 'x=', '', ' ', '*', '$(id)', '`id`', '\\', '-n', 'blue'],
      ['a  b*', '', '-n', 'blue'],
      ['create', 'cm', 'x', '--from-literal', '-n=green', '--from-literal=a=-A', '-n', 'blue'],
    ])('hands every argument on as it is', (...args) => {
      expect(ran(args).rest).toEqual(args)
    })

    test('puts its options behind the first word, so that a plugin is found', () => {
      expect(sudo(['neat', 'get', '-n', 'blue']).calls.at(-1)).toEqual([
        ...['neat', '--as=ada', '--as-group=blue-sudoers', 'get', '-n', 'blue'],
      ])
    })

    test.each(['Ada Ö. "Countess" <ada@example.org>', "o'hara", 'a  b', '--as=eve', 'a\n', '*', '$(id)', '-n'])(
      'impersonates %j under that very name',
      who => {
        expect(ran(['get', 'pods', '-n', 'blue'], { who }).ours).toEqual([`--as=${who}`, '--as-group=blue-sudoers'])
      },
    )

    test.each([
      [['kubectl', 'get', 'pods', '-n', 'blue']],
      [['/usr/bin/kubectl', 'get', 'pods', '-n', 'blue']],
      [['kubectl', 'sudo', 'get', 'pods', '-n', 'blue']],
    ])('runs the last command again when the shell brings back %j', args => {
      expect(ran(args).rest).toEqual(['get', 'pods', '-n', 'blue'])
    })

    test('asks the same cluster as the same person who is meant in the command', () => {
      const options = ['--context', 'my box', '--kubeconfig=/a b', '-s', 'https://x', '--token', 'y', '--user=z']
      const { calls } = sudo(['get', 'pods', ...options, '-l', 'app', '--request-timeout=5s', '--', '--context=no'], {
        place: 'blue',
      })
      const [place, who, last] = calls
      expect(place!.slice(0, 2)).toEqual(['config', 'view'])
      expect(who!.slice(0, 2)).toEqual(['auth', 'whoami'])
      for (const question of [place, who]) expect(question!.slice(-9)).toEqual([...options, '--request-timeout=5s'])
      expect(last).toEqual(expect.arrayContaining(options))
    })

    test.each([
      [['get', 'pods', '-A'], 'sudo is for one namespace: -A cannot be used'],
      [['get', 'pods', '--all-namespaces'], 'sudo is for one namespace'],
      [['get', 'pods', '-wA', '-n', 'blue'], 'sudo is for one namespace'],
      [['get', 'pods', '-n', 'blue', '--as', 'eve'], '--as is already there'],
      [['get', 'pods', '-n', 'blue', '--as=eve'], '--as is already there'],
      [['get', 'pods', '-n', 'blue', '--as-group=x'], '--as-group is already there'],
      [['get', 'pods', '-n'], '-n needs a value'],
      [['get', 'pods', '--context'], '--context needs a value'],
      [['get', 'pods'], 'which namespace? Name it by -n NAME'],
      [['get', 'pods', '-n', ''], 'which namespace? Name it by -n NAME'],
    ])('refuses %j with words, and runs nothing', (args, words) => {
      const { status, stderr, calls } = sudo(args)
      expect(stderr).toContain(words)
      expect(status).toBe(1)
      expect(calls.filter(([first]) => first === 'get')).toEqual([])
    })

    test.each([
      ['unknown', 'who are you? "kubectl auth whoami" must answer'],
      ['', 'who are you? "kubectl auth whoami" names no user'],
    ])('runs nothing when the cluster says of who asks: "%s"', (who, words) => {
      const { status, stderr, calls } = sudo(['get', 'pods', '-n', 'blue'], { who })
      expect([status, calls.length]).toEqual([1, 1])
      expect(stderr).toContain(words)
    })

    test('prints the command as a shell reads it when it is asked to', () => {
      const args = ['exec', '-n', 'blue', 'web', '--', 'sh', '-c', "echo 'a\nb'\n", '']
      const { stdout, calls } = sudo(['--print', ...args], { who: "o'hara x" })
      expect(calls.map(([first]) => first)).toEqual(['auth'])
      const again = spawnSync(shell, ['-c', `kubectl() { printf '%s\\0' "$@"; }; ${stdout}`], { encoding: 'utf8' })
      const [command, ...rest] = args
      expect(again.stdout.split('\0').slice(0, -1)).toEqual([
        ...[command, "--as=o'hara x", '--as-group=blue-sudoers', ...rest],
      ])
    })

    test('explains itself', () => {
      for (const option of ['-h', '--help']) expect(sudo([option]).stdout).toContain('kubectl sudo !!')
      const { status, stderr, calls } = sudo([])
      expect([status, calls]).toEqual([1, []])
      expect(stderr).toContain('Usage:')
    })
  })

  describe('kubectl-create-lns', () => {
    const sent = () => JSON.parse(readFileSync(join(folder, 'calls.input'), 'utf8'))

    test('sends what is asked for, and nothing that is not', () => {
      expect(create(['blue']).status).toBe(0)
      expect(sent()).toEqual({
        apiVersion: 'gial.lblw.dev/v1beta1',
        ...{ kind: 'LNamespace', metadata: { name: 'blue' }, spec: {} },
      })
    })

    test('sends people, labels and bounds', () => {
      const nasty = 'Ö "\\n" \\ $(id) <a@b>'
      const { status, stderr } = create([
        ...['--user', nasty, '--user=-x', '--group', 'devs', 'blue', '--serviceaccount=team:robot'],
        ...[
          '--manager',
          'max',
          '--manager-group=leads',
          '--sudoer',
          'sue',
          '--eligible=eve',
          '--eligible-group',
          'all',
        ],
        ...['--label', 'team.example.org/x=a=b', '--label=y=', '--prevent-deletion'],
      ])
      expect([status, stderr]).toEqual([0, ''])
      expect(sent().spec).toEqual({
        users: [
          { kind: 'User', name: nasty },
          { kind: 'User', name: '-x' },
          { kind: 'Group', name: 'devs' },
          { kind: 'ServiceAccount', namespace: 'team', name: 'robot' },
        ],
        managers: [
          { kind: 'User', name: 'max' },
          { kind: 'Group', name: 'leads' },
        ],
        sudoers: [{ kind: 'User', name: 'sue' }],
        sudo: {
          eligible: [
            { kind: 'User', name: 'eve' },
            { kind: 'Group', name: 'all' },
          ],
        },
        namespaceLabelOverrides: { 'team.example.org/x': 'a=b', y: '' },
        preventDeletion: true,
      })
    })

    test('makes a list of nobody when nobody is to have sudo', () => {
      create(['blue', '--no-sudoers'])
      expect(sent().spec).toEqual({ sudoers: [] })
    })

    test('hands options of kubectl on, with their values', () => {
      const options = ['--dry-run=server', '-o', 'yaml', '--context', 'my box', '--save-config', '--token=x']
      expect(create([...options.slice(0, 3), 'blue', ...options.slice(3)]).calls).toEqual([
        ['create', '-f', '-', ...options],
      ])
    })

    test('waits on the same cluster', () => {
      const { status, calls } = create([
        'blue',
        '--wait',
        '--timeout=5s',
        '-o',
        'name',
        '--context',
        'box',
        '--token=x',
      ])
      expect(status).toBe(0)
      expect(calls[1]).toEqual([
        ...['wait', '--for=condition=Ready', '--timeout=5s', 'lnamespaces.gial.lblw.dev/blue'],
        ...['--context', 'box', '--token=x'],
      ])
    })

    test('says why when what it waits for does not come', () => {
      const { status, stderr } = create(['blue', '--wait'], { unready: 'Conflict: the Namespace blue exists' })
      expect(status).toBe(1)
      expect(stderr).toContain('blue is there, and not ready after 60s: Conflict: the Namespace blue exists')
    })

    test.each([
      [[], 'which name?'],
      [['blue', 'green'], 'one name, please: blue or green?'],
      [['blue', '--user'], '--user needs a value'],
      [['blue', '--user='], '--user needs a value'],
      [['blue', '--user', 'a\nb'], 'a control character'],
      [['blue', '--user', 'a\n'], 'a control character'],
      [['blue', '--label', 'x\u0007=y'], 'a control character'],
      [['blue', '--label', 'x'], '--label is KEY=VALUE'],
      [['blue', '--serviceaccount', 'robot'], '--serviceaccount is NAMESPACE:NAME'],
      [['blue', '--serviceaccount', 'a:b:c'], '--serviceaccount is NAMESPACE:NAME'],
      [['blue', '--sudoer', 'x', '--no-sudoers'], 'contradict each other'],
      [['blue', '--wait', '--dry-run=client'], 'contradict each other'],
      [['-f', 'x.yaml'], 'to read a file, use: kubectl create -f'],
      [['blue', '-o'], '-o needs a value'],
      [['bl\nue'], 'a control character'],
    ])('refuses %j with words, and runs nothing', (args, words) => {
      const { status, stderr, calls } = create(args)
      expect(stderr).toContain(words)
      expect([status, calls]).toEqual([1, []])
    })

    test('explains itself', () => {
      for (const option of ['-h', '--help'])
        expect(create(['blue', option]).stdout).toContain('kubectl create lns NAME')
    })
  })
})
