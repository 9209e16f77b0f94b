/** Containers on real machines: Debian with its kernel, systemd, OpenSSH and cgroups, under qemu. Run by `npm test -- --vm` alone. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { DispatchFleet } from '../../kit/dispatch/fleet.ts'
import { runShell } from '../../kit/dispatch/inside.ts'
import { ec2Types } from '../../kit/dispatch/on-ec2.ts'
import { onMachine, type VmSite, vmSite, whyNoRealVms } from '../../kit/dispatch/on-vms.ts'
import { Samples } from '../../kit/dispatch/samples.ts'

const reason = whyNoRealVms()
const patience = { timeout: 500_000, interval: 200 }
const loneVm = fileURLToPath(new URL('../../kit/dispatch/lone-vm.ts', import.meta.url))
const gone = 'arvados_dispatchcloud_instances_disappeared'
/** The disk may have to be made. */
const startMs = 600_000

describe.skipIf(reason !== null)(`real machines${reason === null ? '' : `, which cannot run here: ${reason}`}`, () => {
  let site: VmSite
  let fleet: DispatchFleet
  beforeAll(async () => {
    site = await vmSite()
    const containers = { ShellAccess: { Admin: true, User: true } }
    fleet = await DispatchFleet.start({ cloud: site.block, types: ec2Types, containers })
  }, startMs)
  afterAll(async () => {
    await fleet?.stop()
    await site?.close()
  })

  const machine = (id: string) => site.cloud.machines!.get(id)
  const complete = (uuid: string) =>
    vi.waitFor(async () => expect(await fleet.find(uuid)).toMatchObject({ state: 'Complete', exitCode: 0 }), patience)

  test('a container runs to its end on a machine whose systemd has started everything', async () => {
    const begunMs = performance.now()
    const secondsSince = (ms: number) => Number(((performance.now() - ms) / 1000).toFixed(1))
    const about = 'systemctl is-system-running; cat /proc/1/comm; cat /proc/self/cgroup; uname -r'
    const uuid = await fleet.submit({ command: site.onlooker.command(about) })
    const vm = await vi.waitFor(async () => machine((await fleet.list())[0]!.instance), patience)
    const switchedOnMs = performance.now()
    await vm.booted
    const boot = secondsSince(switchedOnMs)
    const { machine: id, letGo } = await site.onlooker.begun(uuid, 1)
    const container = secondsSince(begunMs)
    const said = await runShell({
      url: fleet.replicas[0]!.url,
      token: fleet.tokenOf('ada'),
      args: [uuid, 'hostname; exit 4'],
    })
    expect(said).toMatchObject({ code: 4, out: `${id}\n` })
    letGo()
    await complete(uuid)
    expect(id).toBe(vm.id)
    const [state, init, group, kernel] = (await fleet.output(uuid)).split('\n')
    expect([state, init]).toEqual(['running', 'systemd'])
    expect(group).toMatch(/^0::\/skylab-[^/]+\/[^/]+$/)
    expect(kernel).toMatch(/-cloud-amd64$/)
    process.stdout.write(`RESULT ${JSON.stringify({ test: 'a real machine', seconds: { boot, container } })}\n`)
  })

  test('a container goes on when systemd kills the SSH server with all that it started, and its last process ends with it', async () => {
    // It leaves its parents, its session and its environment: only a control group still knows it.
    const uuid = await fleet.submit({ command: site.onlooker.command('(setsid env -i sleep 4711 &)') })
    const { machine: id, letGo } = await site.onlooker.begun(uuid, 1)
    const { address } = machine(id)
    const sleeping = () => onMachine(fleet, address, 'pgrep -fx "sleep 4711"')
    expect(await sleeping()).toMatch(/^\d+\n$/)
    const before = await onMachine(fleet, address, 'systemctl show -P MainPID ssh; systemctl kill -s KILL ssh')
    const pid = () => onMachine(fleet, address, 'systemctl show -P MainPID ssh')
    await vi.waitFor(async () => expect(await pid()).toMatch(/^(?!0\n)\d+\n$/), patience)
    expect(await pid()).not.toBe(before)
    letGo()
    await complete(uuid)
    expect(await fleet.find(uuid)).toMatchObject({ runs: 1, instance: id })
    expect(await sleeping()).toBe('')
  })

  test.each([
    ['is turned off from inside', 'systemctl poweroff', () => true],
    ['panics', 'echo c >/proc/sysrq-trigger', (said: string) => said.includes('Kernel panic')],
    ['starts anew', 'systemctl reboot', (said: string) => said.split('Linux version').length > 2],
  ] as const)('a container begins anew, and never twice at once, when its machine %s', async (_, blow, landed) => {
    const disappeared = async () => (await Samples.of(fleet.replicas)).sum(gone, { state: 'running' })
    const before = await disappeared()
    const uuid = await fleet.submit({ command: site.onlooker.command() })
    const first = await site.onlooker.begun(uuid, 1)
    const vm = machine(first.machine)
    const { address } = vm
    void onMachine(fleet, address, blow)
    let ranAtOnce = false
    const second = await site.onlooker.begun(uuid, 2, () => {
      ranAtOnce ||= vm.isRunning
    })
    expect([landed(vm.console()), ranAtOnce]).toEqual([true, false])
    expect(second.machine).not.toBe(first.machine)
    expect(second.run).toBeGreaterThan(first.run)
    second.letGo()
    await complete(uuid)
    expect(await fleet.find(uuid)).toMatchObject({ runs: 2 })
    expect(site.onlooker.of(uuid)).toHaveLength(2)
    // Skylab ended the others itself.
    await vi.waitFor(
      async () => expect(await disappeared()).toBe(before + (blow.includes('poweroff') ? 1 : 0)),
      patience,
    )
  })

  test('nothing is left of a machine when the process that started it is killed', async () => {
    const child = spawn(process.execPath, [loneVm, site.stateDir], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [line] = await once(child.stdout, 'data')
    const [pid, card] = String(line).trim().split(' ')
    const links = [`/proc/${pid}`, `/sys/class/net/${card}`]
    expect(links.map(each => existsSync(each))).toEqual([true, true])
    child.kill('SIGKILL')
    await once(child, 'exit')
    await expect.poll(() => links.map(each => existsSync(each)), patience).toEqual([false, false])
  })
})
