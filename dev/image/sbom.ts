/**
 * Writes the bill of materials of the image to stdout. The Dockerfile runs this with the image's own Node, after all other
 * files are in place:  node dev/image/sbom.ts ACCOUNT-OF-THE-BUNDLE IMAGE-FOLDER PROGRAM-FOLDER
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { rootCertificates } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { billOfMaterials, type DebianPackage, type ImageFile } from './bill.ts'

/** Every file of a folder that becomes the folder `at` of the image. */
function filesIn(folder: string, at: string): ImageFile[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => !entry.isDirectory())
    .map(entry => join(entry.parentPath, entry.name))
    .map(path => ({
      path: join(at, path.slice(folder.length)),
      sha256: createHash('sha256').update(readFileSync(path)).digest('hex'),
    }))
}

// biome-ignore lint/suspicious/noTemplateCurlyInString: syntax of dpkg
const format = '${Package} ${Version} ${Architecture}'

/** The Debian package of a library; undefined when there is no dpkg, or it does not know the file. */
function debianOf(path: string): DebianPackage | undefined {
  // With or without /usr: dpkg knows one of them.
  const places = [path, join('/usr', path), path.replace(/^\/usr/, '')]
  const owner = ask('dpkg-query', '--search', ...places)
    ?.split('\n')
    .find(line => line.endsWith(basename(path)))
    ?.split(': ')[0]
  const fields = owner && ask('dpkg-query', '--show', `--showformat=${format}`, owner)
  if (!fields) return undefined
  const [name, version, architecture] = fields.split(' ')
  return { package: name!, version: version!, architecture: architecture! }
}

/** dpkg's output; it complains of unknown paths and still lists the others. */
const ask = (command: string, ...args: string[]): string | undefined =>
  spawnSync(command, args, { encoding: 'utf8' }).stdout || undefined

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [account = '', image = '', program = ''] = process.argv.slice(2)
  const json = (path: string) => JSON.parse(readFileSync(path, 'utf8'))
  const files = [...filesIn(image, '/'), ...filesIn(program, '/skylab')].map(file => ({
    ...file,
    debian: /\/lib\w*\//.test(file.path) && !file.path.startsWith('/skylab/') ? debianOf(file.path) : undefined,
  }))
  const bill = billOfMaterials({
    lock: json('package-lock.json'),
    bundle: json(account),
    files,
    node: { arch: process.arch, versions: process.versions },
    authorities: rootCertificates,
  })
  process.stdout.write(`${JSON.stringify(bill, null, 1)}\n`)
}
