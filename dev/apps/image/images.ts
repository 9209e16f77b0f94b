/** The images of the demo of apps: a real MLflow, a real Streamlit and a real Shiny, made from Debian and PyPI only. */
import { fileURLToPath } from 'node:url'
import { type PythonImage, pythonImage } from '../../image/python-image.ts'
import { VENV } from '../../image/rootfs.ts'
import type { Progress } from '../../process/progress.ts'

const env = [`PATH=${VENV}/bin:/usr/local/bin:/usr/bin:/bin`, 'LANG=C.UTF-8', 'HOME=/tmp']
const common = { User: '65534:65534', WorkingDir: '/tmp' }
const packages = ['python3-venv', 'ca-certificates']
const listOf = (name: string) => fileURLToPath(new URL(`requirements-${name}.txt`, import.meta.url))

/**
 * `mlflow server` as seed 001 starts it. Today's MLflow refuses a `Host` that it does not know: the image admits those of
 * Services of apps. One worker and no jobs, since a demo has two processors.
 */
const mlflow: PythonImage = {
  ...{ name: 'mlflow', title: 'MLflow', requirements: listOf('mlflow'), packages },
  config: {
    ...common,
    ExposedPorts: { '5000/tcp': {} },
    Env: [
      ...env,
      'MLFLOW_SERVER_ALLOWED_HOSTS=app-*',
      'MLFLOW_SERVER_ENABLE_JOB_EXECUTION=false',
      'MLFLOW_DISABLE_TELEMETRY=true',
      'MLFLOW_WORKERS=1',
      'GIT_PYTHON_REFRESH=quiet',
    ],
    Cmd: ['mlflow', 'server'],
  },
}

const streamlit: PythonImage = {
  ...{ name: 'streamlit', title: 'Streamlit', requirements: listOf('streamlit'), packages },
  config: {
    ...common,
    ExposedPorts: { '8501/tcp': {} },
    Env: [...env, 'STREAMLIT_SERVER_HEADLESS=true', 'STREAMLIT_BROWSER_GATHER_USAGE_STATS=false'],
    Cmd: ['streamlit', 'run', '/app/app.py'],
  },
}

const shiny: PythonImage = {
  ...{ name: 'shiny', title: 'Shiny', requirements: listOf('shiny'), packages },
  config: { ...common, ExposedPorts: { '8000/tcp': {} }, Env: env, Cmd: ['shiny', 'run', '/app/app.py'] },
}

/** Images by the name under which pods ask for them. */
export const appImages: Readonly<Record<string, PythonImage>> = {
  'larribas/mlflow:1.9.1': mlflow,
  'demo/streamlit:1.67.0': streamlit,
  'demo/shiny:1.8.0': shiny,
}

/** OCI layouts by the name of the image; each is built when the cache lacks it. */
export async function buildAppImages(progress: Progress, signal?: AbortSignal): Promise<ReadonlyMap<string, string>> {
  const layouts = new Map<string, string>()
  // One after another: pip and tar use both processors.
  for (const [name, image] of Object.entries(appImages)) layouts.set(name, await pythonImage(image, progress, signal))
  return layouts
}
