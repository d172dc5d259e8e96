/** The client's address, in one form. */
import { isIP } from 'node:net'

/**
 * @param forwarded what a trusted proxy says; what is no address is not believed
 * @param remote who the connection is from
 * @returns IPv4 in its own form, though it came by an IPv6 socket
 */
export function clientAddress(forwarded: string | undefined, remote = ''): string {
  const address = forwarded === undefined || isIP(forwarded) === 0 ? remote : forwarded
  return address.startsWith(':') ? address.replace(/^::ffff:(?=[\d.]+$)/i, '') : address
}
