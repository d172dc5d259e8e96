/** Addresses that open a source file in the developer's editor, as the variable `FILIGREE_EDITOR` names it. */
import { resolve, sep } from 'node:path'

const editors: Readonly<Record<string, string>> = {
  vscode: 'vscode://file{file}:{line}',
  vscodium: 'vscodium://file{file}:{line}',
  cursor: 'cursor://file{file}:{line}',
  windsurf: 'windsurf://file{file}:{line}',
  zed: 'zed://file{file}:{line}',
  idea: 'idea://open?file={file}&line={line}',
  webstorm: 'webstorm://open?file={file}&line={line}',
  sublime: 'subl://open?url=file://{file}&line={line}',
}

/** Addresses with one of these schemes run code or open a page. */
const webSchemes = /^(?:javascript|data|vbscript|blob|file|https?|view-source):/i

/**
 * @param file absolute, or relative to the working directory
 * @param editor a name from the table, or an address with `{file}` and `{line}`. Default: VS Code
 * @returns null for an unknown editor
 */
export function editorLink(file: string, line: number, editor = 'vscode'): string | null {
  const template = Object.hasOwn(editors, editor) ? editors[editor] : editor
  if (template === undefined || !/^[a-z][a-z\d+.-]*:.*\{file\}/i.test(template)) return null
  if (webSchemes.test(template)) return null
  const path = resolve(file).split(sep).join('/')
  const absolute = encodeURI(path.startsWith('/') ? path : `/${path}`).replace(
    /[?#]/g,
    encodeURIComponent,
  )
  return template.replaceAll('{file}', () => absolute).replaceAll('{line}', String(line))
}
