/** The sign-in form of the application, as a page, and as a dialog after the session has ended. */
import {
  api,
  request,
  base,
  usesStoredToken,
  useStoredToken,
  SignInCancelled,
  errorText,
  statusOf,
} from './requests.js'
import { branding, brandNode } from './branding.js'
import { openDialog } from './dialog.js'
import { el, replace } from './element.js'
import { showError } from './notices.js'
import { makeClassForm, type Form } from './form.js'
import { replacePath } from './navigation.js'
import type { FieldInfo } from './schema.js'
import { translate } from './translate.js'
import { createClient } from '../index.js'
import { passkeysOf } from '../passkeys.js'

interface Login {
  readonly path: string
  readonly fields: readonly FieldInfo[]
  readonly signOut: string
  /** The part before the paths of the application, empty or `/desk`. */
  readonly prefix?: string
  /** The names of providers: `google` for `/signin/google`. */
  readonly providers?: readonly string[]
  readonly passkeys?: true
}

let login: Promise<Login> | undefined
const readLogin = (): Promise<Login> =>
  (login ??= request<Login>('GET', api('login'), { open: true }).then(({ data }) => data))

/** Deletes the token from the local storage. */
function deleteStoredToken(): void {
  try {
    localStorage.removeItem('app_token')
  } catch {
    // Storage is blocked, so it holds no token.
  }
}

async function makeForm(done: (token: string) => Promise<void>): Promise<Form> {
  const { path, fields } = await readLogin()
  const form = makeClassForm(fields, {
    isNew: true,
    isGuarded: false,
    onSubmit: async () => {
      if (!form.check()) return
      const body = form.read()
      let token = ''
      try {
        const { headers } = await request('POST', path, { body, open: true })
        token = headers.get('FreshToken') ?? ''
      } catch (error) {
        const message = errorText(error)
        showError(message)
        const password = form.controls.find(({ name }) => isSecret(name)) ?? form.controls[0]
        password?.focus()
        return
      }
      await done(token)
    },
    buttons: [el('button', { type: 'submit', class: 'main' }, translate('signIn'))],
  })
  for (const { name, node } of form.controls) {
    const input = node.querySelector('input')
    if (input === null) continue
    if (isSecret(name)) input.type = 'password'
    input.autocomplete = isSecret(name) ? 'current-password' : 'username'
    input.setAttribute('autocapitalize', 'none')
  }
  return form
}

/** Buttons for passkeys and for providers. A provider leads back to this view. */
async function otherSignIns(done: (token: string) => Promise<void>): Promise<HTMLElement | null> {
  const login = await readLogin()
  const { providers = [], passkeys, prefix = '' } = login
  const client = createClient({ baseUrl: prefix, auth: usesStoredToken() })
  const passkey = passkeysOf(client)
  const buttons: HTMLElement[] = []
  if (passkeys === true && passkey.supported)
    buttons.push(
      el(
        'button',
        {
          type: 'button',
          onclick: async () => {
            let token = ''
            client.intercept('response', ({ headers }) => {
              token = headers.get('FreshToken') ?? token
            })
            try {
              await passkey.signIn()
            } catch (error) {
              // The user has closed the browser's dialogue.
              if ((error as Error).name === 'NotAllowedError') return
              throw error
            }
            await done(token)
          },
        },
        translate('usePasskey'),
      ),
    )
  const to = encodeURIComponent(location.pathname + location.search)
  for (const name of providers) {
    const label = name.charAt(0).toUpperCase() + name.slice(1)
    const href = `${prefix}/signin/${name}?to=${to}`
    buttons.push(el('a', { href, class: 'button' }, translate('continueWith', { name: label })))
  }
  return buttons.length === 0 ? null : el('div', { class: 'others' }, ...buttons)
}

const isSecret = (name: string): boolean => /pass|secret|pin$/i.test(name)

/** @param message why the user must sign in */
export async function showSignIn(
  done: (token: string) => Promise<void>,
  message = '',
): Promise<void> {
  const form = await makeForm(done)
  const otherButtons = await otherSignIns(done)
  document.title = `${translate('signIn')} · ${branding.title}`
  document.body.className = 'gate'
  replace(
    document.body,
    el(
      'main',
      {},
      el('p', { class: 'brand' }, ...brandNode()),
      el('h1', {}, translate('signIn')),
      el('div', { class: 'notices' }),
      message !== '' && el('p', { class: 'quiet-words' }, message),
      form.node,
      otherButtons,
    ),
  )
  form.controls[0]?.focus()
}

let running: Promise<void> | undefined

/** Opens the sign-in as a dialog, so that unsaved input is not lost. */
export function signInAgain(): Promise<void> {
  running ??= new Promise<void>((resolve, reject) => {
    let isDone = false
    const formArea = el('div', {})
    openDialog(
      translate('signInAgain'),
      ({ close }) => {
        const done = (token: string): Promise<void> => {
          if (usesStoredToken() && token !== '') useStoredToken(token)
          isDone = true
          close()
          return Promise.resolve()
        }
        makeForm(done)
          .then((form) => {
            replace(formArea, form.node)
            form.controls[0]?.focus()
          })
          .catch(reject)
        return [el('p', {}, translate('sessionEnded')), formArea]
      },
      () => {
        if (isDone) resolve()
        else reject(new SignInCancelled())
      },
    )
  }).finally(() => {
    running = undefined
  })
  return running
}

/** Signs out on the server and deletes the token. */
export async function endSignIn(): Promise<void> {
  const { signOut } = await readLogin()
  try {
    await request('POST', signOut, { body: {}, open: true })
  } catch (error) {
    if (statusOf(error) !== 401) throw error
  } finally {
    deleteStoredToken()
    useStoredToken(false)
    replacePath(base)
  }
}
