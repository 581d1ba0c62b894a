import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '../../../../stack/run-command.ts';

/** PEM files of an authority made for one test run. */
export type Certificates = Awaited<ReturnType<typeof makeCertificates>>;

const PASSPHRASE = 'S3CRET-passphrase';

/** Makes an authority, a certificate of a server and one of a client with openssl, valid for two days. */
export async function makeCertificates(folder: string) {
  await mkdir(folder, { recursive: true });
  const at = (name: string): string => join(folder, name);
  const request = ['req', '-x509', '-newkey', 'rsa:2048', '-noenc', '-days', '2'];
  const authority = ['-keyout', at('ca.key'), '-out', at('ca.pem'), '-subj', '/CN=test'];
  await openssl([...request, ...authority, '-addext', 'basicConstraints=critical,CA:TRUE']);
  /** `both`: key and certificate in one file, as Kafka wants them. `encryptedKey`: the same key, encrypted by the passphrase. */
  const certify = async (name: string, extension: string) => {
    const [key, cert, both] = [at(`${name}.key`), at(`${name}.pem`), at(`${name}-both.pem`)];
    const own = [
      '-CA',
      at('ca.pem'),
      '-CAkey',
      at('ca.key'),
      '-addext',
      'basicConstraints=CA:FALSE',
      '-addext',
      extension,
    ];
    await openssl([...request, '-keyout', key, '-out', cert, '-subj', `/CN=${name}`, ...own]);
    const encryptedKey = at(`${name}-encrypted.key`);
    await openssl(['pkcs8', '-topk8', '-in', key, '-out', encryptedKey, '-passout', `pass:${PASSPHRASE}`]);
    await writeFile(both, `${await readFile(key, 'utf8')}${await readFile(cert, 'utf8')}`);
    return { key, encryptedKey, passphrase: PASSPHRASE, cert, both };
  };
  return {
    ca: at('ca.pem'),
    /** For 127.0.0.1 and localhost; the key is PKCS#8. */
    server: await certify('server', 'subjectAltName=IP:127.0.0.1,DNS:localhost'),
    /** For the client `CN=rollcall`. */
    client: await certify('rollcall', 'extendedKeyUsage=clientAuth'),
  };
}

async function openssl(args: readonly string[]): Promise<void> {
  const { code, output } = await runCommand('openssl', args);
  if (code !== 0) throw new Error(`openssl ${args[0]} ended with ${code}: ${output}`);
}
