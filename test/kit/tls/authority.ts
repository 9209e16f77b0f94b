/** A certificate authority for tests, made with openssl. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Issued {
  readonly certFile: string
  readonly keyFile: string
  readonly cert: string
  readonly key: string
}

export interface Subject {
  /** In openssl's form, such as `DNS:skylab` and `IP:127.0.0.1`. Default: none. */
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

  /** @param folder must exist */
  constructor(folder: string, name = 'ca') {
    this.#folder = folder
    this.#name = name
    const subject = ['-x509', '-days', '30', '-subj', `/CN=${name}`]
    const [certFile, keyFile] = [join(folder, `${name}.crt`), join(folder, `${name}.key`)]
    openssl('req', ...curve, ...subject, '-keyout', keyFile, '-out', certFile)
    this.caFile = certFile
    this.ca = readFileSync(certFile, 'utf8')
  }

  /** An expired certificate for the key and the names of a pair: it was valid for one month of 2020. */
  expired({ certFile, keyFile, key }: Issued): Issued {
    const at = (suffix: string) => certFile.replace(/crt$/, suffix)
    const { caFile } = this
    const database = {
      database: at('index'),
      new_certs_dir: this.#folder,
      default_md: 'sha256',
      policy: 'any',
      rand_serial: 'yes',
    }
    const settings = Object.entries({ ...database, copy_extensions: 'copy' }).map(
      ([name, value]) => `${name} = ${value}`,
    )
    const policy = ['[any]', 'commonName = supplied']
    writeFileSync(at('cnf'), ['[ca]', 'default_ca = own', '[own]', ...settings, ...policy, ''].join('\n'))
    writeFileSync(at('index'), '')
    openssl(
      'x509',
      '-x509toreq',
      '-copy_extensions',
      'copyall',
      '-in',
      certFile,
      '-signkey',
      keyFile,
      '-out',
      at('csr'),
    )
    const signed = ['-cert', caFile, '-keyfile', join(this.#folder, `${this.#name}.key`)]
    const dates = ['-startdate', '20200101000000Z', '-enddate', '20200201000000Z']
    openssl('ca', '-batch', '-notext', '-config', at('cnf'), ...signed, ...dates, '-in', at('csr'), '-out', certFile)
    return { certFile, keyFile, cert: readFileSync(certFile, 'utf8'), key }
  }

  /** Writes `name.crt` and `name.key`, and replaces existing ones. */
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
