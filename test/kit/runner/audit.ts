/** What containers themselves write: the only witness of runs that overlap. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * A command that writes down its begin, then looks whether another run of its container is alive, on any machine. The second
 * run sees the first. It ends by itself after `seconds`.
 */
export const audited = (folder: string, seconds: number): string => `
echo "$$" >> ${folder}/$SKYLAB_CONTAINER_UUID.pids
echo "begin $SKYLAB_CONTAINER_UUID $SKYLAB_CONTAINER_RUN" >> ${folder}/log
while read -r pid; do
  [ "$pid" = "$$" ] && continue
  read -r stat 2>/dev/null < /proc/$pid/stat || continue
  case "$stat" in *") Z "*) continue ;; esac
  echo "overlap $SKYLAB_CONTAINER_UUID $SKYLAB_CONTAINER_RUN $pid" >> ${folder}/log
done < ${folder}/$SKYLAB_CONTAINER_UUID.pids
exec sleep ${seconds}`

export interface Audited {
  /** `<uuid> <run>` of each begin. */
  readonly begins: readonly string[]
  readonly overlaps: readonly string[]
}

export function readAudit(folder: string): Audited {
  const file = join(folder, 'log')
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []
  const of = (kind: string) =>
    lines.filter(line => line.startsWith(`${kind} `)).map(line => line.slice(kind.length + 1))
  return { begins: of('begin'), overlaps: of('overlap') }
}
