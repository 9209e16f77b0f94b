import { attempt, findProgram } from './command.ts'

/** The image that the provider of containers will run. */
const clusterImage = 'rancher/k3s'

/**
 * Whether a container engine answers and has the image of a cluster. Nothing uses it yet: this is the place where a
 * provider by testcontainers comes in.
 */
export async function containersAvailable(): Promise<boolean> {
  if (!findProgram('docker')) return false
  const images = await attempt('docker', ['image', 'ls', '--quiet', clusterImage], { timeoutMs: 5000 })
  return images !== null && images.trim() !== ''
}
