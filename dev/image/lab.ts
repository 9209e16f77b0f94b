/** The image for labs of the demo: a real JupyterLab. */
import { fileURLToPath } from 'node:url'
import type { Progress } from '../process/progress.ts'
import { type PythonImage, pythonImage } from './python-image.ts'
import { VENV } from './rootfs.ts'

const image: PythonImage = {
  name: 'lab',
  title: 'JupyterLab',
  requirements: fileURLToPath(new URL('requirements.txt', import.meta.url)),
  packages: ['python3-venv', 'ca-certificates', 'procps'],
  // No user: each lab brings its UID, its home and its /etc/passwd.
  config: {
    User: '65534:65534',
    WorkingDir: '/',
    ExposedPorts: { '8888/tcp': {} },
    Env: [`PATH=${VENV}/bin:/usr/local/bin:/usr/bin:/bin`, 'LANG=C.UTF-8'],
    Cmd: ['jupyterhub-singleuser'],
  },
}

/** The folder of the image as an OCI layout; built when the cache lacks this version. */
export const labImage = (progress: Progress, signal?: AbortSignal): Promise<string> =>
  pythonImage(image, progress, signal)
