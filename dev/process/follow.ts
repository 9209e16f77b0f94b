/** Reads a file to which others add lines. */
import { readFileSync, watch } from 'node:fs'

/**
 * Gives each whole line once, as it comes.
 * @returns what ends it, once what has come meanwhile is given
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
