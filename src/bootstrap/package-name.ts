/** The name of the application in the `package.json` of the folder that it is started from. */
import { readFileSync } from 'node:fs'
import { isMap, tryParseJson } from '../core/json.js'

/** @returns undefined without a readable file, such as for a bundle that is deployed alone */
export function readPackageName(folder = process.cwd()): string | undefined {
  try {
    const content = tryParseJson(readFileSync(`${folder}/package.json`, 'utf8'))
    const name = isMap(content) ? content.name : undefined
    return typeof name === 'string' && name.trim() !== '' ? name : undefined
  } catch {
    return undefined
  }
}
