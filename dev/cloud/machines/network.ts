/** The network of one cloud: a bridge of this machine, on which its virtual machines have their addresses. */
import { existsSync, readdirSync } from 'node:fs'
import { run } from '../../process/command.ts'
import { type Lock, tryLock } from '../../process/lock.ts'
import { cloudLinks } from '../../process/machine.ts'

/** 198.18.0.0/15 is kept for tests of networks (RFC 2544): no site uses it. Each cloud has 1,022 addresses of it. */
const networks = 128

export interface Network {
  readonly bridge: string
  /** Of all its machines. */
  readonly cidr: string
  /** Two halves of it. */
  readonly subnets: readonly [string, string]
  /** Length of the network's prefix. */
  readonly bits: number
  /** Gives a machine its card, `eth0`; the machine is the network namespace of a process. */
  plug(card: string, pid: number, address: string): Promise<void>
  /** Cuts the cable, or mends it. */
  switch(card: string, state: 'up' | 'down'): Promise<void>
  close(): Promise<void>
}

/** A network that nobody on this machine has. What a killed process left of one is removed first. */
export async function openNetwork(): Promise<Network> {
  await sweep()
  for (let number = 0; number < networks; number++) {
    const lock = await tryLock(lockOf(number))
    if (lock) return opened(number, lock)
  }
  throw new Error(`this machine runs ${networks} clouds already`)
}

const lockOf = (number: number) => `cloud network ${number}`

/** Machines end with the process that started them, and take their cards along; a bridge stays. */
async function sweep(): Promise<void> {
  for (const name of readdirSync('/sys/class/net')) {
    const number = new RegExp(`^${cloudLinks}(\\d+)$`).exec(name)?.[1]
    const lock = number === undefined ? null : await tryLock(lockOf(Number(number)))
    if (!lock) continue
    await remove(name)
    await lock.release()
  }
}

async function remove(bridge: string): Promise<void> {
  if (existsSync(`/sys/class/net/${bridge}`)) await run('ip', ['link', 'delete', bridge])
}

/** The next machine at an address has the same one: others remember it for half a minute. */
export const hardwareOf = (address: string) =>
  ['02', '5b', ...address.split('.').map(part => Number(part).toString(16).padStart(2, '0'))].join(':')

async function opened(number: number, lock: Lock): Promise<Network> {
  const bridge = `${cloudLinks}${number}`
  const second = 18 + (number >> 6)
  const third = (number & 63) * 4
  const at = (offset: number) => `198.${second}.${third + offset}`
  // Addresses that the kernel gives by itself come late, and browsers would take them for a change of the network.
  const quiet = (link: string) => (existsSync('/proc/sys/net/ipv6') ? [`link set ${link} addrgenmode none`] : [])
  const batch = (...lines: readonly string[]) => run('ip', ['-batch', '-'], { input: `${lines.join('\n')}\n` })
  try {
    await remove(bridge)
    await batch(
      // Else it has the lowest of its cards: machines would send to the former one for seconds when a card goes.
      `link add ${bridge} address ${hardwareOf(`${at(0)}.1`)} type bridge`,
      ...quiet(bridge),
      `link set ${bridge} up`,
      `addr add ${at(0)}.1/22 dev ${bridge}`,
    )
  } catch (error) {
    await lock.release()
    throw error
  }
  return {
    bridge,
    bits: 22,
    cidr: `${at(0)}.0/22`,
    subnets: [`${at(0)}.0/23`, `${at(2)}.0/23`],
    plug: async (card, pid, address) => {
      await batch(
        `link add ${card} type veth peer name eth0 address ${hardwareOf(address)} netns ${pid}`,
        ...quiet(card),
        `link set ${card} master ${bridge} up`,
      )
    },
    switch: async (card, state) => void (await run('ip', ['link', 'set', card, state])),
    close: async () => {
      await remove(bridge)
      await lock.release()
    },
  }
}
