import { readdir } from 'node:fs/promises'
import type { Attack } from './attack.js'

/** Every attack of the files `*-attacks.ts` of this folder. Each file exports its list as `attacks`. */
export async function loadAttacks(): Promise<Attack[]> {
  const folder = new URL('.', import.meta.url)
  const files = (await readdir(folder)).filter((name) => name.endsWith('-attacks.ts')).sort()
  const loaded: Attack[] = []
  for (const file of files) {
    const { attacks } = (await import(`./${file}`)) as { readonly attacks: readonly Attack[] }
    loaded.push(...attacks)
  }
  return loaded
}
