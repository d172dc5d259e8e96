/** The page: signs in, lists tickets, adds and ticks them. `api` is the browser client of /filigree.js. The sign-in is a cookie. */
const { api } = window

const find = (id) => document.getElementById(id)
const showMessage = (text) => {
  find('message').textContent = text
}

/** Runs an action and shows its error. */
async function run(action) {
  showMessage('')
  try {
    await action()
  } catch (error) {
    if (error.status === 401 && !find('desk').hidden) showSignIn()
    showMessage(error.data?.error ?? error.message)
  }
}

function showSignIn() {
  find('sign-in').hidden = false
  find('desk').hidden = true
}

/** Shows the tickets, or the sign-in form if nobody is signed in. */
async function show() {
  const { signedIn, admin } = await api.get('/session')
  find('admin').hidden = !admin
  if (signedIn) await list()
  else showSignIn()
}

async function list() {
  const tickets = await api.get('/tickets', { params: { orderBy: '-id', limit: 100 } })
  find('sign-in').hidden = true
  find('desk').hidden = false
  find('empty').hidden = tickets.length > 0
  find('tickets').replaceChildren(...tickets.map(toItem))
}

function toItem({ id, title, done }) {
  const item = document.createElement('li')
  const label = document.createElement('label')
  const box = Object.assign(document.createElement('input'), { type: 'checkbox', checked: done })
  box.addEventListener('change', () =>
    run(async () => {
      await api.patch('/tickets/<id>', { done: box.checked }, { path: { id } })
      await list()
    }),
  )
  const text = Object.assign(document.createElement('span'), { textContent: title })
  label.className = done ? 'ticket done' : 'ticket'
  label.append(box, text)
  item.append(label)
  return item
}

find('sign-in').addEventListener('submit', (event) => {
  event.preventDefault()
  const body = Object.fromEntries(new FormData(event.target))
  void run(async () => {
    await api.post(event.submitter.value, body)
    event.target.reset()
    await show()
  })
})
find('add').addEventListener('submit', (event) => {
  event.preventDefault()
  void run(async () => {
    await api.post('/tickets', Object.fromEntries(new FormData(event.target)))
    event.target.reset()
    await list()
  })
})
find('sign-out').addEventListener('click', () =>
  run(async () => {
    await api.post('/session/end')
    await show()
  }),
)

void run(show)
