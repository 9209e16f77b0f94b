/** Reads a file while others append lines to it. */
import { readFileSync, watch } from 'node:fs'

/**
 * Passes each complete line on once, as it comes.
 * @returns a function that stops following, after passing on the lines so far
 */
export function followLines(file: string, onLine: (line: string) => void): () => void {
  let given = 0
  const look = () => {
    const lines = readFileSync(file, 'utf8').split('\n').slice(given, -1)
    given += lines.length
    for (const line of lines) onLine(line)
  }
  const watcher = watch(file, look)
  look()
  let ended = false
  return () => {
    if (ended) return
    ended = true
    watcher.close()
    look()
  }
}
