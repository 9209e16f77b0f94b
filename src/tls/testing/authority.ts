/** An authority of a test's own, and certificates of it, made by openssl. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Issued {
  readonly certFile: string
  readonly keyFile: string
  readonly cert: string
  readonly key: string
}

export interface Subject {
  /** As openssl has them, such as `DNS:skylab` and `IP:127.0.0.1`. Default: none. */
  readonly alternatives?: readonly string[]
  /** Default: the name of the files. */
  readonly commonName?: string
  readonly days?: number
}

const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']

export class TestAuthority {
  readonly caFile: string
  readonly ca: string
  readonly #folder: string
  readonly #name: string

  /** @param folder that is there */
  constructor(folder: string, name = 'ca') {
    this.#folder = folder
    this.#name = name
    const subject = ['-x509', '-days', '30', '-subj', `/CN=${name}`]
    const [certFile, keyFile] = [join(folder, `${name}.crt`), join(folder, `${name}.key`)]
    openssl('req', ...curve, ...subject, '-keyout', keyFile, '-out', certFile)
    this.caFile = certFile
    this.ca = readFileSync(certFile, 'utf8')
  }

  /** Writes `name.crt` and `name.key`. Those of the same name are written over. */
  issue(name: string, { alternatives = [], commonName = name, days = 30 }: Subject = {}): Issued {
    const at = (file: string) => join(this.#folder, file)
    const signed = ['-x509', '-CA', this.caFile, '-CAkey', at(`${this.#name}.key`), '-subj', `/CN=${commonName}`]
    const leaf = ['-addext', 'basicConstraints=critical,CA:FALSE', '-days', String(days)]
    const names = alternatives.length === 0 ? [] : ['-addext', `subjectAltName=${alternatives.join(',')}`]
    const [certFile, keyFile] = [at(`${name}.crt`), at(`${name}.key`)]
    openssl('req', ...curve, ...signed, ...leaf, ...names, '-keyout', keyFile, '-out', certFile)
    return { certFile, keyFile, cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') }
  }
}

function openssl(...args: string[]): void {
  execFileSync('openssl', args, { stdio: 'pipe' })
}
