/** The application's sign-in as the page asks for it. Source: specification, Admin page 1. */
import type { LoginOptions } from './options.js'

type Json = Record<string, unknown>

/** What the page shows to whoever is not signed in. */
export function describeLogin({ path, signOut }: LoginOptions, own: string): Json {
  return {
    path,
    method: 'POST',
    fields: [
      { name: 'name', kind: 'string', required: true },
      { name: 'password', kind: 'string', required: true },
    ],
    signOut: signOut ?? own,
  }
}
