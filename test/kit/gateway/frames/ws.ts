/** Bytes of frames, as `ws` writes them. */
import { PerMessageDeflate, Sender } from 'ws'
import type { FrameOrder, SidePlan } from './plan.ts'
import { Random } from './random.ts'

const alphabet = Buffer.from('abcdefghijklmnopqrstuvwxyz')

/** Text that compresses; the same as that of `by_websockets.py`. */
export const payloadOf = (size: number): Buffer => Buffer.alloc(size, alphabet)

/** @param masks whether the side is the client, which masks what it sends */
export async function framesByWs({ frames, compresses, seed }: SidePlan, masks: boolean): Promise<Buffer> {
  const random = new Random(seed)
  const deflate = new PerMessageDeflate({ isServer: !masks })
  deflate.accept([{}])
  const written: Buffer[] = []
  const socket = {
    cork: () => {},
    uncork: () => {},
    write: (bytes: Uint8Array | string, done?: () => void) => {
      written.push(Buffer.from(bytes as Uint8Array))
      done?.()
    },
  }
  const extensions = compresses ? { [PerMessageDeflate.extensionName]: deflate } : {}
  const sender = new Sender(socket, extensions, mask => random.bytes(4).copy(mask))
  await Promise.all(frames.map(frame => new Promise<void>(done => send(sender, frame, { masks, compresses }, done))))
  deflate.cleanup()
  return Buffer.concat(written)
}

interface SendParts {
  readonly masks: boolean
  readonly compresses: boolean
}

function send(sender: Sender, frame: FrameOrder, { masks, compresses }: SendParts, done: () => void): void {
  const payload = payloadOf(frame.size)
  switch (frame.do) {
    case 'data':
      sender.send(payload, { binary: frame.kind === 'binary', mask: masks, fin: frame.fin, compress: compresses }, done)
      return
    case 'ping':
      sender.ping(payload, masks, done)
      return
    case 'pong':
      sender.pong(payload, masks, done)
      return
    case 'close':
      sender.close(frame.code, payload.toString(), masks, done)
  }
}
