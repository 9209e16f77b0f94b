import { createReadStream, createWriteStream, type ReadStream, read, type WriteStream, write } from 'node:fs'

/** Streams close what they read when they are destroyed, also with `autoClose: false`; another file may have its number then. */
const shared = { autoClose: false, start: 0, fs: { read, write, close: (_fd: number, done: () => void) => done() } }

/** The content of an open file, from its beginning, for one of many readers. The file stays open. */
export const readShared = (fd: number): ReadStream => createReadStream('', { ...shared, fd, highWaterMark: 512 * 1024 })

export const writeShared = (fd: number): WriteStream => createWriteStream('', { ...shared, fd })
