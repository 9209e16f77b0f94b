/** The image for labs of the demo: a real JupyterLab, made from Debian and PyPI only, and kept from run to run. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { run } from '../process/command.ts'
import type { Progress } from '../process/progress.ts'
import { cachedImage } from './cached.ts'
import { type ImageConfig, writeLayout } from './layout.ts'
import { bootstrap, installPython, prune, SUITE, VENV } from './rootfs.ts'

const requirements = fileURLToPath(new URL('requirements.txt', import.meta.url))
/** The key of the image, together with `config`: a change to any of them builds it again. */
const recipe = ['requirements.txt', 'layout.ts', 'rootfs.ts']

/** No user: each lab brings its UID, its home and its /etc/passwd. */
const config: ImageConfig = {
  User: '65534:65534',
  WorkingDir: '/',
  ExposedPorts: { '8888/tcp': {} },
  Env: [`PATH=${VENV}/bin:/usr/local/bin:/usr/bin:/bin`, 'LANG=C.UTF-8'],
  Cmd: ['jupyterhub-singleuser'],
}

const compression = 'zstd'
const packages = ['python3-venv', 'ca-certificates', 'procps']

/** The folder of the image as an OCI layout; built when the cache lacks this version. */
export async function labImage(progress: Progress, signal?: AbortSignal): Promise<string> {
  const files = await Promise.all(recipe.map(name => readFile(new URL(name, import.meta.url))))
  const build = (out: string, work: string) => buildLab(out, join(work, 'rootfs'), progress, signal)
  return cachedImage(
    { name: 'lab', recipe: [JSON.stringify({ config, compression }), ...files], build },
    progress,
    signal,
  )
}

async function buildLab(out: string, rootfs: string, progress: Progress, signal?: AbortSignal): Promise<void> {
  const mirror = await debianMirror()
  await progress.part(`JupyterLab image: Debian ${SUITE}`, () => bootstrap({ rootfs, mirror, packages, signal }))
  await progress.part('JupyterLab image: Python packages', () => installPython({ rootfs, requirements, signal }))
  await progress.part('JupyterLab image: layer', async () => {
    await prune(rootfs)
    await writeLayout({ rootfs, out, name: 'lab', config, compression })
  })
}

/** The Debian archive that this machine's apt uses. */
export async function debianMirror(): Promise<string> {
  const fields = ['--format', '$(CODENAME) $(REPO_URI)', 'Created-By: Packages', 'Label: Debian']
  return chooseMirror(await run('apt-get', ['indextargets', ...fields]))
}

/** Prefers the address that serves the image's suite, else takes any: an archive has all suites. Lines are `suite address`. */
export function chooseMirror(lines: string): string {
  const targets = lines.split('\n').map(line => line.split(' '))
  const chosen =
    targets.find(([suite, address]) => suite === SUITE && address) ?? targets.find(([, address]) => address)
  if (!chosen?.[1]) throw new Error('apt knows no Debian archive: the JupyterLab image needs one (see apt-get update)')
  return chosen[1]
}
