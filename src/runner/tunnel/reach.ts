/** Connects to a port of the container, from its machine. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Engine } from '../engines/engine.ts'

const limitMs = 10_000

/** @throws words for people */
export async function reach(engine: Pick<Engine, 'reach'>, port: number): Promise<Socket> {
  const socket = connect({ ...(await engine.reach(port)), allowHalfOpen: true, noDelay: true })
  const late = setTimeout(() => socket.destroy(new Error(`port ${port} does not answer`)), limitMs)
  try {
    await once(socket, 'connect')
    return socket
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw code === 'ECONNREFUSED' ? new Error(`nothing listens on port ${port}`) : new Error(message)
  } finally {
    clearTimeout(late)
  }
}
