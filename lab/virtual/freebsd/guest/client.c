/*
 * What stands under the names of this server's tools: hands the command line and its own input and outputs to the
 * resident program (bsd.py serve), and ends as that says. Starting Python takes an emulated processor half a second,
 * this a few milliseconds. Where nobody answers, it becomes the program itself.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef SOCKET
#define SOCKET "/run/bsd/socket"
#endif
#define PROGRAM "/usr/libexec/bsd/bsd.py"
#define MOST 65536

static char message[MOST];

/* Arguments, folder and PKG_PATH, each ended by a zero; the number of bytes, or 0 when they are too many. */
static size_t composed(int argc, char **argv)
{
	char folder[4096];
	const char *path = getenv("PKG_PATH");
	size_t used = 0;
	int i;

	if (!getcwd(folder, sizeof(folder)))
		strcpy(folder, "/");
	for (i = -2; i < argc; i++) {
		const char *word = i == -2 ? folder : i == -1 ? (path ? path : "") : argv[i];
		size_t size = strlen(word) + 1;

		if (used + size > sizeof(message))
			return 0;
		memcpy(message + used, word, size);
		used += size;
	}
	return used;
}

static int connected(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = SOCKET };
	int line = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	if (line >= 0 && connect(line, (struct sockaddr *)&address, sizeof(address)) < 0) {
		close(line);
		return -1;
	}
	return line;
}

static int sent(int line, size_t size)
{
	int files[3] = { 0, 1, 2 };
	char control[CMSG_SPACE(sizeof(files))] = { 0 };
	struct iovec part = { message, size };
	struct msghdr head = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
	struct cmsghdr *rights = CMSG_FIRSTHDR(&head);

	rights->cmsg_level = SOL_SOCKET;
	rights->cmsg_type = SCM_RIGHTS;
	rights->cmsg_len = CMSG_LEN(sizeof(files));
	memcpy(CMSG_DATA(rights), files, sizeof(files));
	return sendmsg(line, &head, 0) == (ssize_t)size;
}

int main(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/');
	unsigned char status;
	size_t size;
	int line;

	argv[0] = (char *)(slash ? slash + 1 : argv[0]);
	size = composed(argc, argv);
	line = size ? connected() : -1;
	if (line >= 0 && sent(line, size))
		return recv(line, &status, 1, 0) == 1 ? status : 70; /* EX_SOFTWARE: it died */
	{
		char *words[argc + 4];

		words[0] = "python3";
		words[1] = "-ESs";
		words[2] = PROGRAM;
		memcpy(words + 3, argv, argc * sizeof(*argv));
		words[argc + 3] = NULL;
		execv("/usr/bin/python3", words);
	}
	perror(argv[0]);
	return 127;
}
