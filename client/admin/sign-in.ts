/** The application's own sign-in: as a page, and over what somebody is doing when the session has ended. */
import { api, ask, base, byToken, goByToken, Abandoned, faultText, statusOf } from './requests.js'
import { openDialog } from './dialog.js'
import { el, replace, refuse } from './element.js'
import { makeClassForm, type Form } from './form.js'
import { rename } from './navigation.js'
import type { FieldInfo } from './schema.js'

interface Login {
  readonly path: string
  readonly fields: readonly FieldInfo[]
  readonly signOut: string
}

let login: Promise<Login> | undefined
const readLogin = (): Promise<Login> =>
  (login ??= ask<Login>('GET', api('login'), { open: true }).then(({ data }) => data))

/** Everything that the browser keeps of a sign-in which its pages can read. */
function forgetToken(): void {
  try {
    localStorage.removeItem('app_token')
  } catch {
    // Nothing is kept where nothing can be.
  }
}

async function makeForm(done: (token: string) => Promise<void>): Promise<Form> {
  const { path, fields } = await readLogin()
  const form = makeClassForm(fields, {
    isNew: true,
    isKept: false,
    onSubmit: async () => {
      if (!form.check()) return
      const body = form.read()
      let token = ''
      try {
        const { headers } = await ask('POST', path, { body, open: true })
        token = headers.get('FreshToken') ?? ''
      } catch (error) {
        const words = faultText(error)
        refuse(words)
        const password = form.controls.find(({ name }) => isSecret(name)) ?? form.controls[0]
        password?.focus()
        return
      }
      await done(token)
    },
    buttons: [el('button', { type: 'submit', class: 'main' }, 'Sign in')],
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

const isSecret = (name: string): boolean => /pass|secret|pin$/i.test(name)

/** @param words why somebody must sign in */
export async function showSignIn(
  done: (token: string) => Promise<void>,
  words = '',
): Promise<void> {
  const form = await makeForm(done)
  document.title = 'Sign in · Admin'
  document.body.className = 'gate'
  replace(
    document.body,
    el(
      'main',
      {},
      el('h1', {}, 'Sign in'),
      el('div', { class: 'notices' }),
      words !== '' && el('p', { class: 'quiet-words' }, words),
      form.node,
    ),
  )
  form.controls[0]?.focus()
}

let running: Promise<void> | undefined

/** Asks again who is there, over what is being done; nothing of it is lost. */
export function signInAgain(): Promise<void> {
  running ??= new Promise<void>((resolve, reject) => {
    let isDone = false
    const place = el('div', {})
    openDialog(
      'Sign in again',
      ({ close }) => {
        makeForm((token) => {
          if (byToken() && token !== '') goByToken(token)
          isDone = true
          close()
          return Promise.resolve()
        })
          .then((form) => {
            replace(place, form.node)
            form.controls[0]?.focus()
          })
          .catch(reject)
        return [el('p', {}, 'Your session has ended. What you typed is still here.'), place]
      },
      () => {
        if (isDone) resolve()
        else reject(new Abandoned('Not signed in.'))
      },
    )
  }).finally(() => {
    running = undefined
  })
  return running
}

/** @returns once the server has ended the sign-in, or says that there is none */
export async function endSignIn(): Promise<void> {
  const { signOut } = await readLogin()
  try {
    await ask('POST', signOut, { body: {}, open: true })
  } catch (error) {
    if (statusOf(error) !== 401) throw error
  } finally {
    forgetToken()
    goByToken(false)
    rename(base)
  }
}
