/** Virtual machines of namespaces: what programs see of them, and what they leave. */
import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { whyNoVms } from '../../../test/kit/cloud/cloud.ts'
import { Machines } from './machines.ts'

const reason = whyNoVms()
const limitMs = 60_000

describe.skipIf(reason !== null)(
  `virtual machines${reason === null ? '' : `, which cannot run here: ${reason}`}`,
  () => {
    let folder: string
    let machines: Machines
    let publicKey: string
    let count = 0

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'skylab-machines-'))
      publicKey = keyPair('key')
      writeFileSync(join(folder, 'program'), '#!/bin/sh\necho the program\n', { mode: 0o755 })
      mkdirSync(join(folder, 'audit'))
      const [shared, written] = [[join(folder, 'program')], [join(folder, 'audit')]]
      machines = await Machines.open({ stateDir: folder, shared, written, diskBytes: 16 << 20 })
    }, limitMs)
    afterAll(async () => {
      await machines?.close()
      rmSync(folder, { recursive: true, force: true })
    })

    function keyPair(name: string): string {
      execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', join(folder, name)])
      return execFileSync('cat', [join(folder, `${name}.pub`)], { encoding: 'utf8' })
    }

    const script = (secret: string) =>
      `#!/bin/sh\numask 077\nprintf '%s' '${secret}' >/run/secret\nmkdir -p /root/.ssh\necho '${publicKey.trim()}' >/root/.ssh/authorized_keys\n`

    function boot(secret: string) {
      const number = ++count
      const address = machines.network.cidr.replace(/\d+\/\d+$/, String(number + 9))
      return machines.boot({ id: `i-${number}`, address, userData: script(secret) })
    }

    /** Its SSH server starts beside the user data, and may listen later. */
    async function up({ booted, address }: ReturnType<typeof boot>): Promise<void> {
      await booted
      await expect.poll(() => answers(address, 300), { timeout: 20_000 }).toBe(true)
    }

    async function ssh(address: string, command: string, key = 'key'): Promise<string> {
      const unknown = ['StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null', 'BatchMode=yes']
      // A machine that is gone may have said no last word.
      const options = [...unknown, 'ConnectTimeout=5', 'ServerAliveInterval=1', 'ServerAliveCountMax=5']
      const args = [
        '-q',
        '-i',
        join(folder, key),
        ...options.flatMap(option => ['-o', option]),
        `root@${address}`,
        command,
      ]
      return (await promisify(execFile)('ssh', args)).stdout
    }

    test(
      'the bridge keeps its hardware address when the first machine is added',
      async () => {
        const address = () => readFileSync(`/sys/class/net/${machines.network.bridge}/address`, 'utf8')
        const before = address()
        await up(boot('a'))
        expect(address()).toBe(before)
      },
      limitMs,
    )

    test(
      'a machine lets in whom its user data name, who reads its secret and sees nothing of this machine',
      async () => {
        const machine = boot('s-1')
        await up(machine)
        keyPair('other')
        expect(await ssh(machine.address, 'cat /run/secret')).toBe('s-1')
        expect(await ssh(machine.address, 'hostname; cat /proc/1/comm')).toBe(`${machine.id}\ncatatonit\n`)
        expect(await ssh(machine.address, `ls -A /root /home /tmp /run ${folder}`)).not.toMatch(/key|log/)
        await expect(ssh(machine.address, 'true', 'other')).rejects.toThrow()
        // Its disk is its own, and small; a shared program is there, and stays as it is.
        expect(await ssh(machine.address, `echo x >/etc/mark; ${join(folder, 'program')}`)).toBe('the program\n')
        expect(existsSync('/etc/mark')).toBe(false)
        expect(machine.read('/etc/mark')).toBe('x\n')
        await expect(ssh(machine.address, `echo x >${join(folder, 'program')}`)).rejects.toThrow()
        await ssh(machine.address, `echo x >${join(folder, 'audit', 'mark')}`)
        expect(readFileSync(join(folder, 'audit', 'mark'), 'utf8')).toBe('x\n')
        await expect(ssh(machine.address, 'head -c 20000000 /dev/zero >/var/full')).rejects.toThrow()
      },
      limitMs,
    )

    test(
      'secrets of user data are in no command line of this machine or of the virtual one',
      async () => {
        const machine = boot('only-for-files-4711')
        await up(machine)
        const lines = await ssh(machine.address, "cat /proc/*/cmdline | tr '\\0' ' '")
        expect(lines).toContain('sshd')
        expect(lines).not.toContain('4711')
        const pids = readdirSync('/proc').filter(name => /^\d+$/.test(name))
        const own = pids.map(commandLine)
        expect(own.some(line => line.includes('4711'))).toBe(false)
      },
      limitMs,
    )

    test(
      'power-off from within and from without ends all processes',
      async () => {
        const [inner, outer] = [boot('a'), boot('b')]
        await Promise.all([up(inner), up(outer)])
        await ssh(inner.address, 'poweroff').catch(() => {})
        await inner.ended
        expect(inner.isRunning).toBe(false)
        const session = ssh(outer.address, 'sleep 1000').catch(() => 'ended')
        // The session must be open by then: a later one would wait for a machine that is gone.
        await ssh(outer.address, 'until pgrep sleep; do :; done')
        await outer.powerOff()
        expect(await session).toBe('ended')
        expect(existsSync(`/proc/${outer.pid}`)).toBe(false)
      },
      limitMs,
    )

    test(
      'a cut machine does not answer, runs on, and answers again when mended',
      async () => {
        const machine = boot('a')
        await up(machine)
        await ssh(machine.address, 'nohup sleep 1000 >/dev/null 2>&1 &')
        await machine.cut()
        expect(await answers(machine.address, 300)).toBe(false)
        await machine.mend()
        await expect.poll(() => answers(machine.address, 300), { timeout: 10_000 }).toBe(true)
        expect(await ssh(machine.address, 'pgrep sleep')).toMatch(/\d/)
      },
      limitMs,
    )

    test(
      'a machine that reboots has lost its secret, and has another host key',
      async () => {
        const machine = boot('a')
        await up(machine)
        const hostKey = machine.read('/etc/ssh/ssh_host_ed25519_key.pub')
        const again = await machines.reboot(machine.id)
        await up(again)
        expect(await ssh(machine.address, 'cat /run/secret || echo none')).toBe('none\n')
        expect(again.read('/etc/ssh/ssh_host_ed25519_key.pub')).not.toBe(hostKey)
      },
      limitMs,
    )

    test(
      'nothing is left when the process that started machines is killed',
      async () => {
        const { child, bridge, pid } = await startElsewhere(folder)
        expect(existsSync(`/proc/${pid}`)).toBe(true)
        // The kernel gives no number of a link twice.
        const path = `/sys/class/net/${bridge}/ifindex`
        const index = () => (existsSync(path) ? readFileSync(path, 'utf8') : '')
        const before = index()
        child.kill('SIGKILL')
        await once(child, 'exit')
        await expect.poll(() => existsSync(`/proc/${pid}`), { timeout: 10_000 }).toBe(false)
        const cards = () => readdirSync('/sys/class/net').filter(name => name.startsWith(`${bridge}v`))
        await expect.poll(cards, { timeout: 10_000 }).toEqual([])
        // The bridge goes when the next cloud starts. One of another test may remove it just then, and make its own by that name.
        const next = await Machines.open({ stateDir: folder })
        await expect.poll(index, { timeout: 10_000 }).not.toBe(before)
        await next.close()
      },
      limitMs,
    )
  },
)

/** A machine of another process. */
async function startElsewhere(folder: string) {
  const module = JSON.stringify(new URL('machines.ts', import.meta.url).href)
  const code = `const { Machines } = await import(${module})
    const machines = await Machines.open({ stateDir: ${JSON.stringify(folder)} })
    const address = machines.network.cidr.replace(/\\d+\\/\\d+$/, '9')
    const machine = machines.boot({ id: 'i-elsewhere', address, userData: '' })
    await machine.booted
    console.log(machines.network.bridge + ' ' + machine.pid)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(child.stdout, 'data')
  const [bridge, pid] = String(line).trim().split(' ')
  return { child, bridge: bridge!, pid: Number(pid) }
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    // It has ended.
    return ''
  }
}

function answers(address: string, withinMs: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect({ host: address, port: 22, timeout: withinMs })
    const end = (is: boolean) => {
      socket.destroy()
      resolve(is)
    }
    socket.once('connect', () => end(true))
    socket.once('timeout', () => end(false))
    socket.once('error', () => end(false))
  })
}
