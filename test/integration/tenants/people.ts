/** People with a client certificate of the cluster, as the API server knows them. */
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parse, stringify } from 'yaml'
import { signCertificate } from '../../../dev/kube/credentials.ts'
import { AdminKube, type KubeAnswer } from '../../kit/cluster/kube.ts'
import { testBed } from '../../kit/testbed.ts'

export class Person {
  readonly name: string
  readonly #kube: AdminKube

  private constructor(name: string, kubeconfig: string) {
    this.name = name
    this.#kube = new AdminKube(kubeconfig)
  }

  /** @param folder for the kubeconfig */
  static async make(name: string, folder: string): Promise<Person> {
    const admin = testBed().kubeconfig
    const pki = join(dirname(admin), '../pki')
    await signCertificate({ pki, openssl: 'openssl' }, name, `/CN=${name}`, ['extendedKeyUsage=clientAuth'])
    const base64 = (file: string) => readFileSync(join(pki, file)).toString('base64')
    const config = parse(readFileSync(admin, 'utf8'))
    const user = { 'client-certificate-data': base64(`${name}.crt`), 'client-key-data': base64(`${name}.key`) }
    for (const entry of config.users) entry.user = user
    const file = join(folder, `${name}.kubeconfig`)
    writeFileSync(file, stringify(config), { mode: 0o600 })
    return new Person(name, file)
  }

  request(method: string, path: string, as?: { readonly user: string; readonly group?: string }): Promise<KubeAnswer> {
    const headers = as ? { 'Impersonate-User': as.user, ...(as.group && { 'Impersonate-Group': as.group }) } : {}
    return this.#kube.request(method, path, undefined, headers)
  }

  close(): void {
    this.#kube.close()
  }
}
