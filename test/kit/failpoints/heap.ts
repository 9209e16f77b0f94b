/**
 * Only tests load this before the program. On SIGUSR2 it collects garbage and writes the size of the used heap to a
 * file of the folder that the replica shares with its test.
 */
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { folderVariable } from './arms.ts'

const folder = process.env[folderVariable]

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

if (folder !== undefined) {
  process.on('SIGUSR2', () => {
    collect()
    const file = join(folder, `heap.${process.pid}`)
    writeFileSync(`${file}.part`, String(process.memoryUsage().heapUsed))
    renameSync(`${file}.part`, file)
  })
}
