import { describe, expect, it, test } from 'vitest'
import { findProgram, run } from '../process/command.ts'
import { whyNoRealNode } from '../run/claim.ts'
import { isRead } from './network-policies.ts'

const table = `  100   4711     0 0     0     0     0        0  1
24488  12345     0 2   128     0     0        7  1
`

test('isRead is true only when a program takes packets from the queue, not when it has only opened it', () => {
  expect(isRead(table, 24_488)).toBe(true)
  expect(isRead(table, 100)).toBe(false)
  expect(isRead(table, 4488)).toBe(false)
  expect(isRead('', 24_488)).toBe(false)
})

const isPossible = whyNoRealNode() === null && ['iptables', 'nft', 'ip'].every(name => findProgram(name))

/** Starts with the given rules, adds the policies' rules and removes them; returns the differences during and after. */
function differences(...rules: string[]): Promise<{ during: string[]; after: string[] }> {
  const from = (file: string) => new URL(file, import.meta.url).href
  const script = `
    import { run } from '${from('../process/command.ts')}'
    import { listMachine, machineDifferences } from '${from('../process/machine.ts')}'
    import { addPolicyRules } from '${from('./network-policies.ts')}'
    import { tearDownNetwork } from '${from('./network.ts')}'
    for (const rule of ${JSON.stringify(rules)}) await run('nft', rule.split(' '))
    // Mounts, control groups, folders and kernel settings come and go with the real node of another run.
    const isOthers = line => /^(mount|cgroup|folder|sysctl) /.test(line)
    const list = async () => (await listMachine({ processes: false })).filter(line => !isOthers(line))
    const before = await list()
    await addPolicyRules()
    const during = machineDifferences(before, await list())
    await tearDownNetwork(before)
    console.log(JSON.stringify({ during, after: machineDifferences(before, await list()) }))`
  // A network namespace of its own, so that the machine's rules stay untouched.
  return run('unshare', ['--net', process.execPath, '--input-type=module', '-e', script]).then(JSON.parse)
}

describe.skipIf(!isPossible)('removePolicyRules', () => {
  it.each([
    ['no rules', []],
    ['an empty table', ['add table ip mangle']],
    [
      'rules of its own',
      [
        'add table ip mangle',
        'add chain ip mangle INPUT { type filter hook input priority mangle; }',
        'add rule ip mangle INPUT counter accept',
      ],
    ],
  ])('removes its rules from a machine with %s, and nothing else', async (_, rules) => {
    const { during, after } = await differences(...rules)
    expect(during.filter(line => /^\+ .*NFQUEUE --queue-num/.test(line))).toHaveLength(2)
    expect(after).toEqual([])
  })
})
