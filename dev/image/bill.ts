/** The bill of materials of the controller's image, in CycloneDX 1.6. Pure: the same image gives the same bill. */
import { createHash } from 'node:crypto'

/** A package in package-lock.json; keys of a lockfile are paths such as `node_modules/hono`. */
export interface LockedPackage {
  readonly version: string
  /** `sha512-…` in base64. */
  readonly integrity?: string
  readonly license?: string
  readonly dependencies?: Readonly<Record<string, string>>
}

/** The used part of a lockfile. The key '' is the project itself. */
export interface Lockfile {
  readonly packages: Readonly<Record<string, LockedPackage>>
}

/** The used part of esbuild's metafile: the input files of each output, with their bytes. */
export interface BundleAccount {
  readonly outputs: Readonly<
    Record<string, { readonly inputs: Readonly<Record<string, { readonly bytesInOutput: number }>> }>
  >
}

/** A package of Debian. */
export interface DebianPackage {
  readonly package: string
  readonly version: string
  readonly architecture: string
}

/** A file of the image. */
export interface ImageFile {
  /** Absolute path in the image. */
  readonly path: string
  readonly sha256: string
  /** The package of a C library, if dpkg knows it. */
  readonly debian?: DebianPackage | undefined
}

export interface ImageFacts {
  readonly lock: Lockfile
  readonly bundle: BundleAccount
  readonly files: readonly ImageFile[]
  /** `process.arch` and `process.versions` of the image's Node. */
  readonly node: { readonly arch: string; readonly versions: Readonly<Record<string, string | undefined>> }
  /** The certificate authorities that this Node trusts, in PEM: the image has no other list. */
  readonly authorities: readonly string[]
}

/** The program's folder in the image, and the one package that is copied unbundled. */
const programFolder = '/skylab/'
const pagePackage = 'node_modules/swagger-ui-dist'
const nodeProgram = '/usr/local/bin/node'
/** The bundler: it is not in the image. */
const bundler = 'node_modules/esbuild'

/** The bill as an object, to be written as JSON. */
export function billOfMaterials(facts: ImageFacts): object {
  const { lock } = facts
  const files = facts.files.toSorted((a, b) => (a.path < b.path ? -1 : 1))
  const { version } = lock.packages['']!
  const packages = bundledPackages(facts)
  const nodePackage = `node_modules/node-linux-${facts.node.arch}`
  const isOwn = ({ path }: ImageFile) => path !== nodeProgram && !isOfPage(path) && !isLibrary(path)
  const refs = new Map([...packages, pagePackage, nodePackage].map(path => [path, purlOf(lock, path)]))
  const content = {
    metadata: {
      component: {
        type: 'application',
        'bom-ref': `skylab@${version}`,
        name: 'skylab',
        version,
        components: files.filter(isOwn).map(fileComponent),
      },
    },
    components: [
      nodeComponent({ ...facts, files }, nodePackage),
      ...libraryComponents(files.filter(({ path }) => isLibrary(path))),
      {
        ...packageComponent(lock, pagePackage),
        components: files.filter(file => isOfPage(file.path)).map(fileComponent),
      },
      ...packages.map(path => packageComponent(lock, path)),
      {
        ...packageComponent(lock, bundler),
        scope: 'excluded',
        description: 'puts the program together; not in the image',
      },
    ].filter(unlessSeen()),
    dependencies: dependencies(lock, refs, `skylab@${version}`),
  }
  const head = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
  }
  return { ...head, serialNumber: serialNumber(content), version: 1, ...content }
}

const isOfPage = (path: string) => path.startsWith(`${programFolder}${pagePackage}/`)
const isLibrary = (path: string) => /^(\/usr)?\/lib(32|64|x32)?\//.test(path)

/** Lockfile paths of the packages with code in the bundle, sorted. */
export function bundledPackages({ bundle }: Pick<ImageFacts, 'bundle'>): string[] {
  const inputs = Object.values(bundle.outputs).flatMap(output => Object.entries(output.inputs))
  const paths = inputs.flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? (packageOf(path) ?? []) : []))
  return [...new Set(paths)].sort()
}

/** The package of a file, by its path in the lockfile; undefined for a file of the source. */
export function packageOf(path: string): string | undefined {
  return /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0]
}

function locked(lock: Lockfile, path: string): LockedPackage {
  const found = lock.packages[path]
  if (!found?.integrity?.startsWith('sha512-')) throw new Error(`package-lock.json has no sha512 of ${path}`)
  return found
}

/** A package's name in the registry. */
export const nameOf = (path: string) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)

function purlOf(lock: Lockfile, path: string): string {
  return `pkg:npm/${nameOf(path).replace('@', '%40')}@${locked(lock, path).version}`
}

function packageComponent(lock: Lockfile, path: string) {
  const { version, integrity, license } = locked(lock, path)
  const [name, group] = nameOf(path).split('/').reverse()
  const purl = purlOf(lock, path)
  const sha512 = Buffer.from(integrity!.slice('sha512-'.length), 'base64').toString('hex')
  return {
    type: 'library',
    'bom-ref': purl,
    ...(group !== undefined && { group }),
    name,
    version,
    hashes: [{ alg: 'SHA-512', content: sha512 }],
    ...(license !== undefined && { licenses: [licenseOf(license)] }),
    purl,
  }
}

const licenseOf = (text: string) => (/[ ()]/.test(text) ? { expression: text } : { license: { id: text } })

/** Node is a package of the lockfile; it contains libraries with versions of their own, and a list of authorities. */
function nodeComponent({ lock, node, authorities, files }: ImageFacts, path: string) {
  const component = packageComponent(lock, path)
  const { node: version, ...inside } = node.versions
  // These are versions of interfaces, not of libraries.
  const { modules: _, napi: __, ...libraries } = inside
  const own = (name: string) => `${component.purl}#${name}`
  const pem = createHash('sha256').update(authorities.join('\n')).digest('hex')
  return {
    ...component,
    type: 'platform',
    cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`,
    components: [
      ...files.filter(file => file.path === nodeProgram).map(fileComponent),
      ...Object.keys(libraries)
        .sort()
        .map(name => ({ type: 'library', 'bom-ref': own(name), name, version: libraries[name] })),
      {
        type: 'data',
        'bom-ref': own('certificates'),
        name: 'mozilla-ca-certificates',
        description: `${authorities.length} certificates of authorities, inside Node; the image has no others`,
        hashes: [{ alg: 'SHA-256', content: pem }],
      },
    ],
  }
}

/** Groups libraries by their Debian package; a file unknown to dpkg is a component of its own. */
function libraryComponents(files: readonly ImageFile[]) {
  const known = Map.groupBy(files, ({ debian }) => (debian ? debianPurl(debian) : undefined))
  const unknown = (known.get(undefined) ?? []).map(fileComponent)
  const packages = [...known].flatMap(([purl, own]) => {
    if (purl === undefined) return []
    const { package: name, version } = own[0]!.debian!
    return [{ type: 'library', 'bom-ref': purl, name, version, purl, components: own.map(fileComponent) }]
  })
  return [...packages.sort((a, b) => (a.purl < b.purl ? -1 : 1)), ...unknown]
}

const debianPurl = (each: DebianPackage) =>
  `pkg:deb/debian/${each.package.replaceAll('+', '%2B')}@${encodeURIComponent(each.version)}?arch=${each.architecture}`

function fileComponent({ path, sha256 }: ImageFile) {
  return { type: 'file', 'bom-ref': `file:${path}`, name: path, hashes: [{ alg: 'SHA-256', content: sha256 }] }
}

/** Skips repeats: the same version of a package can be at several places. */
function unlessSeen() {
  const seen = new Set<string>()
  return ({ 'bom-ref': ref }: { 'bom-ref': string }) => !seen.has(ref) && seen.add(ref).size > 0
}

/** Dependencies among the components of the image. */
function dependencies(lock: Lockfile, refs: ReadonlyMap<string, string>, own: string) {
  const wanted = (path: string) =>
    Object.keys(lock.packages[path]?.dependencies ?? {}).flatMap(name => refs.get(resolved(lock, path, name)) ?? [])
  const node = [...refs.values()].filter(ref => ref.startsWith('pkg:npm/node-linux-'))
  const byRef = new Map<string, Set<string>>([[own, new Set([...wanted(''), ...node])]])
  for (const [path, ref] of refs) byRef.set(ref, new Set([...(byRef.get(ref) ?? []), ...wanted(path)]))
  return [...byRef].map(([ref, on]) => ({ ref, dependsOn: [...on].sort() }))
}

/** Resolves a dependency as Node does: below the package, or below one of those around it. */
function resolved(lock: Lockfile, from: string, name: string): string {
  const path = `${from ? `${from}/` : ''}node_modules/${name}`
  if (lock.packages[path] || !from) return path
  return resolved(lock, from.slice(0, Math.max(0, from.lastIndexOf('/node_modules/'))), name)
}

/** Derived from the content, so that the same image gets the same number. */
function serialNumber(content: object): string {
  const hex = createHash('sha256').update(JSON.stringify(content)).digest('hex')
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`, hex.slice(20, 32)]
  return `urn:uuid:${parts.join('-')}`
}
