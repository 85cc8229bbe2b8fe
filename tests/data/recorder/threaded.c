    pthread_t threads[2];
    int tags[2] = {1, 2};
    for (int at = 0; at < 2; at++) {
        pthread_create(&threads[at], NULL, calls, &tags[at]);
    }
    for (int at = 0; at < 2; at++) {
        pthread_join(threads[at], NULL);
    }
