import type { Connection } from '../../../src/store/connection.ts'

/** Opens a connection; resolves when both of its links are ready. */
export async function opened(connection: Connection): Promise<void> {
  const links = [connection.commands, connection.listening]
  const ready = links.map(link => new Promise(resolve => link.once('ready', resolve)))
  connection.open()
  await Promise.all(ready)
}
