/** The script of a machine's first start. Pure. */
import { CloudRefused } from '../errors.ts'

/** EC2's limit, before it is encoded. */
const mostBytes = 16_384
const keyForm = /^(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)) [A-Za-z0-9+/]+={0,3}( [\w.@:+=-]{1,100})?$/

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

/**
 * A script that cloud-init runs as root, and that other images can run too. The secret comes first: who can log in finds it.
 * @throws CloudRefused when the key is none, or the script is too long
 */
export function userData(initCommand: string, publicKey: string, user: string): string {
  const key = publicKey.trim()
  if (!keyForm.test(key)) throw new CloudRefused('the public key for machines is not in the form of OpenSSH')
  const script = `#!/bin/sh
(
${initCommand}
)
user=${quoted(user)}
id "$user" >/dev/null 2>&1 || useradd --create-home --shell /bin/sh "$user"
home=$(getent passwd "$user" | cut -d: -f6)
mkdir -p "$home/.ssh"
printf '%s\\n' ${quoted(key)} >>"$home/.ssh/authorized_keys"
chmod 700 "$home/.ssh"
chmod 600 "$home/.ssh/authorized_keys"
chown -R "$user:" "$home/.ssh"
`
  const bytes = Buffer.from(script)
  if (bytes.length > mostBytes)
    throw new CloudRefused(`the script for machines has ${bytes.length} bytes; EC2 takes ${mostBytes}`)
  return bytes.toString('base64')
}
