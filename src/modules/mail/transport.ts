/** Sends mail by nodemailer, which an application installs; only this file imports it. Source: nodemailer, SMTP transport. */
import { missingPackage, type MissingPackage } from '../../index.js'

/** What sends: a transport of nodemailer, or an object of one's own. */
export interface MailTransport {
  sendMail(message: object): Promise<unknown>
  close?(): void
}

/** The part of the package that is used. */
interface Package {
  readonly createTransport: (options: object) => MailTransport
}

/** What is reported where it is not installed. */
export const nodemailer: MissingPackage = {
  name: 'nodemailer',
  code: 'MAIL_DRIVER_MISSING',
  message: 'mail: the package nodemailer is missing, which sends mail.',
  remedy: 'Run: npm install nodemailer',
}

/** Milliseconds. */
const [connecting, silence] = [10_000, 30_000]

/**
 * @param address `smtp://user:password@host:587`, `smtps://…`
 * @throws {DeclarationError} the package is missing
 */
export async function openTransport(address: string): Promise<MailTransport> {
  const { createTransport } = await load()
  return createTransport({
    ...{ url: address, pool: true, maxConnections: 5 },
    ...{ connectionTimeout: connecting, greetingTimeout: connecting, socketTimeout: silence },
  })
}

async function load(): Promise<Package> {
  try {
    // By a variable, so that the package is not needed to compile.
    const loaded = (await import(nodemailer.name)) as Package & { readonly default?: Package }
    return loaded.default ?? loaded
  } catch (cause) {
    throw missingPackage(nodemailer, cause)
  }
}
