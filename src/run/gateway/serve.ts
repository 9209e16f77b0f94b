import type { Settings } from '../../settings/load.ts'
export async function serveGateway(_: Settings): Promise<void> {}
